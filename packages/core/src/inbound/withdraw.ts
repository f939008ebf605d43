import type { SuppressionRow } from '../rows/rows.ts'
import type { Settlement } from '../rules/settlement.ts'
import { isReply } from '../rules/suppression.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'

/** The maximum number of queued messages that are searched in each workspace. */
const SEARCHED_MAX = 500

/**
 * Fails queued messages to recipients who just opted out (`error_code` `suppressed`), with a refund; returns their number.
 * Only the newest 500 queued messages of each workspace are searched. The other messages, and after an error all messages,
 * are checked against the suppressions when they are claimed.
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
      runtime.log.warn(
        { err: error, workspace_id },
        'queued messages to a suppressed recipient were not canceled',
      )
    }
  }
  return withdrawn
}

async function waitingFor(
  { storage, runtime }: { storage: Storage; runtime: Pick<Runtime, 'now'> },
  { workspace_id, channel, address }: SuppressionRow,
): Promise<Settlement[]> {
  const filter = { channel, status: 'queued' } as const
  const page = { limit: SEARCHED_MAX, offset: 0, content_length: 0 }
  const waiting = await storage.read.messages.listShort(workspace_id, filter, page)
  const theirs = waiting.filter(
    // Of several recipients, the claim leaves out those who opted out.
    (message) =>
      message.recipient === address &&
      message.recipients === null &&
      message.livemode &&
      !isReply(message),
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
