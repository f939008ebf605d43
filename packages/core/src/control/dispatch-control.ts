import { setTimeout } from 'node:timers/promises'
import { type Actor, auditRow, SERVICE } from '../audit/entry.ts'
import { invalid } from '../contract/errors.ts'
import { countedText } from '../contract/fields/amounts.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'
import type { Doubt, DoubtfulMessage, DoubtfulTotal } from '../storage/ports/stores.ts'

/** A pause of all sending and delivering. */
export interface DispatchPause {
  cause: 'operator' | 'restore'
  reason: string
  /** The time of the backup, if the pause began with a restore; otherwise null. */
  backup_at: Date | null
  created_at: Date
}

/** Messages that were due before a restore: `send` sends them, possibly a second time; `cancel` fails and refunds them. */
export type DoubtfulChoice = 'send' | 'cancel'

/** The result of ending a pause. */
export interface Resumed {
  was_paused: boolean
  /** The number of messages that failed and were refunded. */
  canceled: number
  /** Doubtful messages that were not canceled because their hand-over had begun: the worker queries their provider. */
  begun: number
}

/**
 * Pauses all sending and delivering, on every server of the database. Requests, callbacks and inbound messages are still
 * accepted.
 */
export interface DispatchControl {
  /** The current pause, or null. */
  pause(): Promise<DispatchPause | null>
  /** Whether dispatch is paused, as last read from the database: at most a second old while this process dispatches. */
  isPaused(): boolean
  /**
   * Pauses until `resume`. When the promise resolves, this process begins no call any more: neither for work that it has
   * claimed, nor for messages whose acceptance hands them over. Another server of the database begins none later than 5 s
   * after the pause was stored, even if it stands still or lost its database meanwhile. Calls that have begun finish, and
   * `standstill` waits for them and for the other servers. If `backup_at` is set, the database was restored from a backup
   * of that time: its due messages may have been sent after the backup. Returns the pause in effect: a pause of a restore
   * is not replaced.
   * @throws SvcError `validation_error` when `backup_at` is in the future.
   */
  stop(
    pause: { reason: string; backup_at?: Date | undefined },
    actor?: Actor,
  ): Promise<DispatchPause>
  /**
   * Resolves when no server of the database begins a call any more, and the calls that had begun have a stored result. Call it
   * after `stop`, or with a `provider` after `providers.pause`. Calls of a server that was killed count until their lease ends
   * (a minute); a server that stands still begins none when it continues. `onProgress` is called about once a second.
   */
  standstill(options?: StandstillOptions): Promise<void>
  /** Totals of messages that may have been sent after the backup. Empty if there is no pause after a restore. */
  doubtful(): Promise<DoubtfulTotal[]>
  /** The messages that `doubtful` counts, read in pages of 500. */
  doubtfulMessages(): AsyncIterable<DoubtfulMessage>
  /**
   * Ends the pause.
   * @throws SvcError `validation_error` when there are doubtful messages and `choice` is null.
   */
  resume(choice?: DoubtfulChoice | null, actor?: Actor): Promise<Resumed>
}

/** What `standstill` waits for, and how it reports meanwhile. */
export interface StandstillOptions {
  /** Waits only for this provider. */
  provider?: string | undefined
  /** Waits only for messages from this sender, besides those that name none. */
  sender?: string | undefined
  onProgress?: ((progress: Standstill) => void) | undefined
  /** Ends the waiting. */
  signal?: AbortSignal | undefined
}

/** The state of a pause that began. */
export interface Standstill {
  /** Whether a server that has not read the pause yet may begin calls. */
  may_begin: boolean
  /** The calls that have begun: messages, and webhook deliveries. */
  messages: number
  deliveries: number
}

/** The time after which every server has read a pause or begins no call: see `FRESH_MS` of the call gate, and one reading. */
const KNOWN_EVERYWHERE_MS = 6_000

/** The waits between two readings while a pause begins. */
const READ_EVERY_MS = { first: 50, later: 1_000 }

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
    // A database that was copied back by hand has no time of the restore: all messages that are due now may have been sent.
    const due_until = created_at > backup_at ? created_at : runtime.now()
    return { created_until: created_at, due_until }
  }

  async function* doubtfulMessages(): AsyncIterable<DoubtfulMessage> {
    const window = await doubt()
    let after = ''
    while (window) {
      const page = await reads.doubtfulMessages(window, { after, limit: PAGE })
      yield* page
      const last = page[PAGE - 1]
      if (!last) return
      after = last.id
    }
  }

  async function doubtful(): Promise<DoubtfulTotal[]> {
    const window = await doubt()
    return window ? reads.doubtfulTotals(window) : []
  }

  /** Cancels one page of messages, one workspace at a time. Returns the number of canceled messages. */
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
    isPaused: () => gate.is_paused,
    doubtful,
    doubtfulMessages,
    async stop({ reason, backup_at }, actor = SERVICE) {
      const created_at = runtime.now()
      if (backup_at && backup_at > created_at) {
        throw invalid('backup_at', 'It must not be in the future')
      }
      const cause = backup_at ? 'restore' : 'operator'
      const row = { scope: ALL, cause, reason, backup_at: backup_at ?? null, created_at } as const
      const { scope: _, ...current } = await storage.write(async ({ dispatchPauses, audit }) => {
        const paused = {
          workspace_id: '',
          action: 'dispatch.paused',
          details: { cause, reason },
        } as const
        await audit.record(auditRow(runtime, actor, paused))
        return dispatchPauses.put(row)
      })
      await gate.refresh()
      return current
    },
    async standstill({ provider, sender, onProgress, signal } = {}) {
      const began_ms = performance.now()
      const isShared = storage.mayOtherDispatch()
      for (let wait_ms = READ_EVERY_MS.first; ; wait_ms = READ_EVERY_MS.later) {
        const may_begin = isShared && performance.now() - began_ms < KNOWN_EVERYWHERE_MS
        const calls = await reads.inFlight({ now: runtime.now(), provider, sender })
        if (!may_begin && calls.messages + calls.deliveries === 0) return
        onProgress?.({ may_begin, ...calls })
        await setTimeout(wait_ms, undefined, { signal })
      }
    },
    async resume(choice = null, actor = SERVICE) {
      const totals = await doubtful()
      const count = totals.reduce((sum, total) => sum + total.count, 0)
      if (count > 0 && choice === null) {
        throw invalid(
          'choice',
          `${countedText(count, 'message')} may have been sent after the backup: choose to send again or to cancel`,
        )
      }
      // Messages are canceled before the pause ends, because until then no server claims them.
      const canceled = choice === 'cancel' ? await cancelDoubtful() : 0
      const was_paused = await storage.write(async ({ dispatchPauses, broadcasts, audit }) => {
        const before = await dispatchPauses.byScope(ALL)
        if (!(await dispatchPauses.remove(ALL))) return false
        // After the backup they may have sent more than the database knows, so that a person decides.
        if (before?.backup_at) await broadcasts.holdAll(runtime.now(), RESTORED_TEXT)
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

const RESTORED_TEXT =
  'A backup was restored: contacts after the last one may have got their message already'

/** The scope of the row that pauses all dispatch. */
const ALL = 'all'

/** Whether this process may claim due work. The database holds the gate, so all servers read it and it survives a restart. */
export interface DispatchGate {
  /** Whether dispatch was paused at the last reading. */
  readonly is_paused: boolean
  /** Reads the pause from the database. */
  refresh(): Promise<void>
}

/** @param onOpened called when a pause has ended, so that due work is claimed at once. */
export function createDispatchGate({
  storage,
  log,
  onOpened,
}: {
  storage: Storage
  log: Runtime['log']
  onOpened: () => void
}): DispatchGate {
  const gate = {
    is_paused: false,
    refresh: oneAtATime(async () => {
      const was_paused = gate.is_paused
      const pause = await storage.read.dispatchPauses.byScope(ALL)
      gate.is_paused = pause !== null
      if (pause && !was_paused) {
        const { cause, reason, backup_at } = pause
        log.warn(
          { cause, reason, backup_at },
          'nothing is sent or delivered. See: svc resume --dry-run',
        )
      }
      if (was_paused && !pause) {
        log.info({}, 'sending and delivering continue')
        onOpened()
      }
    }),
  }
  return gate
}

/**
 * Each reading begins when the one before it has ended. So a reading that began before a pause was stored never replaces
 * one that began after it.
 */
export function oneAtATime(read: () => Promise<void>): () => Promise<void> {
  let last: Promise<unknown> = Promise.resolve()
  return () => {
    const next = last.then(read)
    last = next.catch(() => {})
    return next
  }
}
