import type { Units } from '../contract/fields/units.ts'
import type { HoldRow } from '../rows/rows.ts'
import type { Entry, Operation, Refusal } from '../rules/decide.ts'
import {
  type HoldEnd,
  isReleased,
  isSettled,
  planHoldRelease,
  planHoldSettle,
  planHoldVoid,
  type Resolution,
  resolutionOperation,
} from '../rules/holds.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage, Writes } from '../storage/ports/storage.ts'
import type { Overdue } from '../storage/ports/stores.ts'
import { eachPage, eachWorkspace } from './lots.ts'

/** A reservation of credits for a message whose price is known only at its end. */
export interface HoldRequest {
  message_id: string
  /** The number of this hold among the holds of the message, from 0. Each later hold adds its amount. */
  n: number
  amount: Units
  /** When the hold is released automatically. */
  expires_at: Date
  channel: string
  quantity: number | null
  unit_price: Units | null
  actor?: string | null | undefined
  description?: string | null | undefined
}

/** The result of a hold request. */
export type HoldResult =
  | { ok: true; entry: Entry; repeated: boolean }
  | Refusal
  /** An earlier hold with that number has another amount. */
  | { ok: false; reason: 'ref_conflict'; standing: Entry }
  /** The message was settled. */
  | { ok: false; reason: 'settled' }

/** The result of ending holds. `entries` are the entries that ended the holds, in this call or in an earlier call. */
export type HoldEndResult =
  | { ok: true; entries: Entry[]; repeated: boolean }
  /** An earlier settlement has another amount. */
  | { ok: false; reason: 'ref_conflict'; standing: Entry }
  | { ok: false; reason: 'not_held' }

/** Holds. Each function is one transaction, and a repeated call changes nothing. Source: contract section 4. */
export interface Holding {
  /** Reserves credits if the spending rules allow it. */
  hold(workspaceId: string, hold: HoldRequest): Promise<HoldResult>
  /** Takes the consumed amount and releases the rest; see `planHoldSettle`. */
  settle(
    workspaceId: string,
    messageId: string,
    settlement: { amount: Units; actor?: string | null | undefined },
  ): Promise<HoldEndResult>
  /** Releases all holds of the message. */
  void(
    workspaceId: string,
    messageId: string,
    options?: { actor?: string | null | undefined },
  ): Promise<HoldEndResult>
}

type HoldingParts = { storage: Storage; runtime: Runtime }

export function createHolding({ storage, runtime }: HoldingParts): Holding {
  const end = (
    workspaceId: string,
    messageId: string,
    actor: string | null,
    plan: (about: Entry[]) => HoldEnd,
  ): Promise<HoldEndResult> =>
    storage.write(async (stores) => {
      const decided = plan(await lockedEntries(stores, workspaceId, [messageId]))
      switch (decided.outcome) {
        case 'not_held':
          return { ok: false, reason: 'not_held' }
        case 'conflict':
          return { ok: false, reason: 'ref_conflict', standing: decided.standing }
        case 'repeated':
          return { ok: true, entries: decided.entries, repeated: true }
        case 'post': {
          const about = { workspaceId, messageId, actor, runtime }
          const entries = await resolve(stores, decided.resolutions, about)
          return { ok: true, entries, repeated: false }
        }
      }
    })

  return {
    hold: (workspaceId, request) =>
      storage.write((stores) => hold(stores, workspaceId, { request, runtime })),
    settle: (workspaceId, messageId, { amount, actor = null }) =>
      end(workspaceId, messageId, actor, (about) => planHoldSettle(about, amount)),
    void: (workspaceId, messageId, { actor = null } = {}) =>
      end(workspaceId, messageId, actor, planHoldVoid),
  }
}

/**
 * Releases the holds that expired by `now` and returns their number. A call without holds counts as free until a report
 * states its duration. Reads `limit` holds at a time, and uses one transaction for each workspace.
 */
export async function releaseHolds(
  { storage, runtime }: HoldingParts,
  now: Date,
  limit: number,
  isStopping = () => false,
): Promise<number> {
  const read = (page: { after: Overdue | null; limit: number }) =>
    storage.write(({ creditHolds }) => creditHolds.overdue(now, page))
  return eachPage({ read, limit, isStopping }, (overdue) =>
    eachWorkspace(overdue, runtime.log, (workspaceId, holds) =>
      storage.write((stores) => releaseOf(stores, workspaceId, { runtime, holds })),
    ),
  )
}

async function releaseOf(
  stores: Writes,
  workspaceId: string,
  { runtime, holds }: { runtime: Pick<Runtime, 'id' | 'now'>; holds: readonly HoldRow[] },
): Promise<number> {
  const overdueIds = new Set(holds.map(({ id }) => id))
  const messageIds = [...new Set(holds.map(({ message_id }) => message_id))]
  await stores.messages.lock(workspaceId, messageIds)
  const entries = await lockedEntries(stores, workspaceId, messageIds)
  const voided: string[] = []
  let released = 0
  for (const messageId of messageIds) {
    const about = entries.filter(({ ref_id }) => ref_id === messageId)
    const resolutions = planHoldRelease(about, overdueIds)
    await resolve(stores, resolutions, { workspaceId, messageId, actor: null, runtime })
    released += resolutions.length
    if (resolutions.length > 0 && isReleased(about, resolutions)) voided.push(messageId)
  }
  if (voided.length > 0) await stores.messages.uncharge(workspaceId, voided)
  return released
}

async function hold(
  stores: Writes,
  workspaceId: string,
  { request, runtime }: { request: HoldRequest; runtime: Pick<Runtime, 'id' | 'now'> },
): Promise<HoldResult> {
  const { credits, creditHolds } = stores
  const { message_id, n, amount, expires_at } = request
  const about = await lockedEntries(stores, workspaceId, [message_id])
  const isThere = about.some(({ kind, ref_n }) => kind === 'hold' && ref_n === n)
  if (!isThere && isSettled(about)) return { ok: false, reason: 'settled' }
  const posted = await credits.post(workspaceId, holdOperation(runtime, request))
  if (!posted.ok) return posted
  if ('repeated' in posted) return { ok: true, entry: posted.repeated, repeated: true }
  const { entry } = posted
  const { id, created_at } = entry
  const row = { workspace_id: workspaceId, id, message_id, n, amount, expires_at, created_at }
  await creditHolds.insert(row)
  return { ok: true, entry, repeated: false }
}

function holdOperation(runtime: Pick<Runtime, 'id' | 'now'>, request: HoldRequest): Operation {
  const { message_id, n, amount, channel, quantity, unit_price } = request
  return {
    id: runtime.id(),
    kind: 'hold',
    amount: 0 as Units,
    held_delta: amount,
    counter_account: `revenue:${channel}`,
    reference: { type: 'message', id: message_id, n },
    channel,
    quantity,
    unit_price,
    resolves: null,
    actor: request.actor ?? null,
    description: request.description ?? null,
    at: runtime.now(),
  }
}

/** Locks the account first, so that the entries about the messages do not change until the transaction ends. */
async function lockedEntries(
  { credits }: Writes,
  workspaceId: string,
  messageIds: readonly string[],
): Promise<Entry[]> {
  if (!(await credits.lock(workspaceId))) return []
  return credits.entriesAbout(workspaceId, messageIds)
}

async function resolve(
  { credits, creditHolds }: Writes,
  resolutions: readonly Resolution[],
  about: {
    workspaceId: string
    messageId: string
    actor: string | null
    runtime: Pick<Runtime, 'id' | 'now'>
  },
): Promise<Entry[]> {
  const { workspaceId, messageId: message_id, actor, runtime } = about
  const entries: Entry[] = []
  for (const resolution of resolutions) {
    const booking = { id: runtime.id(), message_id, actor, at: runtime.now() }
    const posted = await credits.post(workspaceId, resolutionOperation(resolution, booking))
    if (!posted.ok || 'repeated' in posted) throw new Error(`hold of ${message_id} ended before`)
    entries.push(posted.entry)
  }
  const ended = resolutions.flatMap(({ resolves }) => resolves ?? [])
  if (ended.length > 0) await creditHolds.remove(workspaceId, ended)
  return entries
}
