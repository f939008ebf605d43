import { type Actor, SERVICE } from '../audit/actor.ts'
import { auditRow } from '../audit/entry.ts'
import { invalid } from '../contract/errors.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Doubt, DoubtfulMessage, DoubtfulTotal } from '../storage/ports/dispatch-pauses.ts'
import type { Storage } from '../storage/ports/storage.ts'
import { ALL, type DispatchGate } from './dispatch-gate.ts'

/** Why nothing is sent or delivered. */
export interface DispatchPause {
  cause: 'operator' | 'restore'
  reason: string
  /** Of a restore: when the backup was made. */
  backup_at: Date | null
  created_at: Date
}

/** What becomes of messages that were due before a restore: sent, perhaps a second time; or failed and given back. */
export type DoubtfulChoice = 'send' | 'cancel'

/** What the end of a pause did. */
export interface Resumed {
  was_paused: boolean
  /** How many failed and were given back. */
  canceled: number
  /** How many were being handed over as the backup was made, or since: their provider is asked. */
  begun: number
}

/** The stop of all sending and delivering, on every server of the database. Accepting and taking in go on. */
export interface DispatchControl {
  /** Null when nothing is paused. */
  pause(): Promise<DispatchPause | null>
  /** Whether this process holds back; as it last looked, within a second while it dispatches. */
  isPaused(): boolean
  /**
   * Nothing more is claimed, within about a second, until `resume`; what is under way ends. Answers the pause that stands:
   * a restore's stays. With `backup_at` it is a restore's: the database is a copy of that time, and what was due by now
   * may have been sent since.
   * @throws SvcError `validation_error` for a time to come.
   */
  stop(
    pause: { reason: string; backup_at?: Date | undefined },
    actor?: Actor,
  ): Promise<DispatchPause>
  /** After a restore: what may have been sent after the backup. Empty under any other pause. */
  doubtful(): Promise<DoubtfulTotal[]>
  /** The same one by one, in bounded steps. */
  doubtfulMessages(): AsyncIterable<DoubtfulMessage>
  /**
   * Ends the pause.
   * @throws SvcError `validation_error` when there are doubtful messages and nobody chose.
   */
  resume(choice?: DoubtfulChoice | null, actor?: Actor): Promise<Resumed>
}

const PAGE = 500

export function createDispatchControl({
  storage,
  runtime,
  gate,
}: {
  storage: Storage
  runtime: Runtime
  gate: DispatchGate
}): DispatchControl {
  const reads = storage.read.dispatchPauses

  async function pause(): Promise<DispatchPause | null> {
    const found = await reads.byScope(ALL)
    if (!found) return null
    const { scope: _, ...rest } = found
    return rest
  }

  async function doubt(): Promise<Doubt | null> {
    const found = await pause()
    if (!found?.backup_at) return null
    const { created_at, backup_at } = found
    // A copy that was put in place by hand does not know when: all that is due by now may have been sent.
    const due_until = created_at > backup_at ? created_at : runtime.now()
    return { created_until: created_at, due_until }
  }

  async function* doubtfulMessages(): AsyncIterable<DoubtfulMessage> {
    const meant = await doubt()
    let after = ''
    while (meant) {
      const page = await reads.doubtfulMessages(meant, { after, limit: PAGE })
      yield* page
      const last = page[PAGE - 1]
      if (!last) return
      after = last.id
    }
  }

  async function doubtful(): Promise<DoubtfulTotal[]> {
    const meant = await doubt()
    return meant ? reads.doubtfulTotals(meant) : []
  }

  /** Those of one page, workspace by workspace. Answers how many failed. */
  async function cancel(page: readonly DoubtfulMessage[]): Promise<number> {
    const at = runtime.now()
    let canceled = 0
    for (const workspace_id of new Set(page.map((message) => message.workspace_id))) {
      const mine = page.filter((message) => message.workspace_id === workspace_id)
      const message_ids = mine.map(({ id }) => id)
      const outcomes = await storage.hot.cancel({ workspace_id, message_ids, at })
      canceled += outcomes.filter((outcome) => outcome === 'canceled').length
    }
    return canceled
  }

  async function cancelDoubtful(): Promise<number> {
    let canceled = 0
    let page: DoubtfulMessage[] = []
    for await (const message of doubtfulMessages()) {
      page.push(message)
      if (page.length < PAGE) continue
      canceled += await cancel(page)
      page = []
    }
    return canceled + (await cancel(page))
  }

  return {
    pause,
    isPaused: gate.isPaused,
    doubtful,
    doubtfulMessages,
    async stop({ reason, backup_at }, actor = SERVICE) {
      const created_at = runtime.now()
      if (backup_at && backup_at > created_at) {
        throw invalid('backup_at', 'It must be a time that has been')
      }
      const cause = backup_at ? 'restore' : 'operator'
      const row = { scope: ALL, cause, reason, backup_at: backup_at ?? null, created_at } as const
      const { scope: _, ...stands } = await storage.write(async ({ dispatchPauses, audit }) => {
        const paused = {
          workspace_id: '',
          action: 'dispatch.paused',
          details: { cause, reason },
        } as const
        await audit.record(auditRow(runtime, actor, paused))
        return dispatchPauses.put(row)
      })
      await gate.refresh()
      return stands
    },
    async resume(choice = null, actor = SERVICE) {
      const totals = await doubtful()
      const count = totals.reduce((sum, total) => sum + total.count, 0)
      if (count > 0 && choice === null) {
        throw invalid(
          'choice',
          `${count} messages may have been sent after the backup: they must be sent again or canceled`,
        )
      }
      // While nothing is claimed anywhere: the pause ends when they are seen to.
      const canceled = choice === 'cancel' ? await cancelDoubtful() : 0
      const was_paused = await storage.write(async ({ dispatchPauses, audit }) => {
        if (!(await dispatchPauses.remove(ALL))) return false
        const resumed = {
          workspace_id: '',
          action: 'dispatch.resumed',
          details: { choice, canceled },
        } as const
        await audit.record(auditRow(runtime, actor, resumed))
        return true
      })
      await gate.refresh()
      return { was_paused, canceled, begun: choice === 'cancel' ? count - canceled : 0 }
    },
  }
}
