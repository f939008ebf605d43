import type { SuppressionRow } from '../rows/rows.ts'
import type { Settlement } from '../rules/settlement.ts'
import { isReply } from '../rules/suppression.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'

/** So many messages that wait are looked through for each workspace. */
const LOOKED_THROUGH_MAX = 500

/**
 * Fails what waits for people who just opted out (`error_code` `suppressed`), credits given back; says how much. Only
 * the newest messages that wait are looked through: the others are held against the suppressions when their turn comes,
 * as are these where this fails.
 */
export async function withdraw(
  { storage, runtime }: { storage: Storage; runtime: Pick<Runtime, 'now' | 'log'> },
  optOuts: readonly SuppressionRow[],
): Promise<number> {
  let withdrawn = 0
  for (const optOut of optOuts) {
    try {
      const settlements = await waitingFor({ storage, runtime }, optOut)
      if (settlements.length === 0) continue
      withdrawn += (await storage.hot.settle(settlements)).filter((isDone) => isDone).length
    } catch (error) {
      const { workspace_id } = optOut
      runtime.log.warn({ err: error, workspace_id }, 'what waits was not withdrawn')
    }
  }
  return withdrawn
}

async function waitingFor(
  { storage, runtime }: { storage: Storage; runtime: Pick<Runtime, 'now'> },
  { workspace_id, channel, address }: SuppressionRow,
): Promise<Settlement[]> {
  const filter = { channel, status: 'queued' } as const
  const page = { limit: LOOKED_THROUGH_MAX, offset: 0, content_length: 0 }
  const waiting = await storage.read.messages.listShort(workspace_id, filter, page)
  const theirs = waiting.filter(
    (message) => message.recipient === address && message.livemode && !isReply(message),
  )
  return theirs.map(({ id }) => ({
    workspace_id,
    message_id: id,
    token: null,
    provider: '',
    abilities: { idempotent: false, lookup: false },
    result: { task: 'suppressed' },
    at: runtime.now(),
  }))
}
