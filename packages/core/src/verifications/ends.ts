import { LIMITS } from '../contract/limits.ts'
import type { EventKind } from '../contract/resources/events.ts'
import type { VerificationRow } from '../rows/rows.ts'
import { endOf } from '../rules/check-codes.ts'
import { type FanOut, fanOut, type Happening } from '../rules/deliveries.ts'
import { ended, isPending } from '../rules/verify.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage, Writes } from '../storage/ports/storage.ts'

/** Stores an event of a workspace and queues its deliveries. Returns whether there are deliveries. */
export async function announce<Kind extends EventKind>(
  { webhooks, eventLog }: Writes,
  newId: () => string,
  happening: Omit<Happening<Kind>, 'message_id'>,
): Promise<boolean> {
  const announced: FanOut = { events: [], deliveries: [], delivery_queue: [] }
  const subscribers = await webhooks.subscribers(happening.workspace_id)
  const at = happening.data.occurred_at
  const keeps = await eventLog.isKept()
  fanOut(announced, { ...happening, message_id: null }, subscribers, { at, newId, keeps })
  if (announced.events.length > 0) await webhooks.queue(announced)
  return announced.deliveries.length > 0
}

/** Announces the end of a verification, if there is an event for it. Returns whether there are deliveries. */
export async function announceEnd(
  stores: Writes,
  newId: () => string,
  row: VerificationRow,
): Promise<boolean> {
  const end = endOf(row)
  return end !== null && announce(stores, newId, end)
}

/**
 * Cancels the messages of a verification that ended and that no provider has yet, and refunds them. The end is stored
 * already, so an error is only logged.
 */
export async function cancelMessages(
  { storage, runtime }: { storage: Storage; runtime: Pick<Runtime, 'now' | 'log'> },
  { workspace_id, id, message_id, messages }: VerificationRow,
): Promise<void> {
  const message_ids = (messages ?? [{ id: message_id }]).map((message) => message.id)
  try {
    await storage.hot.cancel({ workspace_id, message_ids, at: runtime.now() })
  } catch (error) {
    const about = { err: error, workspace_id, verification_id: id }
    runtime.log.warn(about, 'waiting messages of a code that ended were not canceled')
  }
}

/** The number of verifications of one transaction whose messages lose their code: each changes a few rows. */
const CODES_MAX = 100

const DAY_MS = 86_400_000

/** The default age in days at which verifications are removed. */
export const VERIFICATION_DAYS_DEFAULT = LIMITS.verification_kept_s / 86_400

/** Ends the verifications whose code expired, with an event each, and removes verifications `days` after their end. */
export async function sweepVerifications(
  {
    storage,
    runtime,
    days = VERIFICATION_DAYS_DEFAULT,
  }: {
    storage: Storage
    runtime: Pick<Runtime, 'now' | 'id' | 'log'>
    days?: number | undefined
  },
  step_max: number,
  isStopping: () => boolean,
): Promise<void> {
  let changed: number
  do {
    changed = 0
    const found = await storage.read.verifications.due(runtime.now(), step_max)
    for (const { workspace_id, id } of found) {
      if (isStopping()) return
      const expired = await storage.write(async (stores) => {
        const row = await stores.verifications.lock(workspace_id, id)
        const at = runtime.now()
        if (row?.status !== 'pending' || isPending(row, at)) return null
        const expired = ended(row, 'expired', at)
        await stores.verifications.change(expired)
        await announceEnd(stores, runtime.id, expired)
        return expired
      })
      if (expired === null) continue
      changed += 1
      // An only message expires with its verification; a later request may have shortened the validity of the others.
      if ((expired.messages?.length ?? 1) > 1) await cancelMessages({ storage, runtime }, expired)
    }
  } while (changed >= step_max)
  const ago = (ms: number) => new Date(runtime.now().getTime() - ms)
  const before = { ended: ago(days * DAY_MS), counted: ago(LIMITS.verification_kept_s * 1000) }
  const step = () =>
    storage.write(({ verifications }) => verifications.removeEnded(before, step_max))
  while (!isStopping() && (await step()) >= step_max);
}

/** Removes from messages what their code is derived from, a day after the start. */
export async function removeOldCodes(
  { storage, runtime }: { storage: Storage; runtime: Pick<Runtime, 'now'> },
  isStopping: () => boolean,
): Promise<void> {
  const before = new Date(runtime.now().getTime() - LIMITS.verification_code_kept_s * 1000)
  const step = () =>
    storage.write(({ verifications }) => verifications.removeCodes(before, CODES_MAX))
  while (!isStopping() && (await step()) >= CODES_MAX);
}
