import { invalid } from '../contract/errors.ts'
import { formatCredits, UNITS_PER_CREDIT, type Units, withUnit } from '../contract/fields/units.ts'
import {
  availableOf,
  type Entry,
  type Operation,
  type Reference,
  UNPRICED,
} from '../rules/decide.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Writes } from '../storage/ports/storage.ts'
import { openLot } from './lots.ts'

/** A gift of credits. */
export interface Grant {
  amount: Units
  /** A second grant with the same id gives nothing. */
  id?: string | undefined
  actor: string
  description?: string | undefined
  /** When the unspent rest expires; default: never. */
  expires_at?: Date | undefined
}

/** A ledger entry; `repeated`: an earlier call booked it. */
export interface Booked {
  entry: Entry
  repeated: boolean
}

export async function give(
  stores: Writes,
  workspaceId: string,
  { grant, runtime }: { grant: Grant; runtime: Pick<Runtime, 'id' | 'now'> },
): Promise<Booked> {
  const { amount, id, actor, description, expires_at } = grant
  if (amount <= 0) throw invalid('amount', 'A grant must be above 0 credits')
  const operation = grantOperation(runtime, {
    amount,
    reference: { type: 'grant', id: id ?? runtime.id(), n: 0 },
    campaign: 'operator',
    actor,
    description: description ?? null,
  })
  await assertRoom(stores, workspaceId, operation)
  const posted = await stores.credits.post(workspaceId, operation)
  if (!posted.ok) {
    if (posted.reason !== 'ref_conflict') throw new Error(`a grant was refused: ${posted.reason}`)
    const earlier = withUnit(posted.standing.amount)
    throw invalid('id', `Grant ${id} was given before, of ${earlier}`)
  }
  if ('repeated' in posted) return { entry: posted.repeated, repeated: true }
  if (expires_at) {
    if (expires_at <= operation.at) {
      throw invalid('expires_at', 'A grant must expire in the future')
    }
    await openLot(stores, posted.entry, expires_at)
  }
  return { entry: posted.entry, repeated: false }
}

export function grantOperation(
  runtime: Pick<Runtime, 'id' | 'now'>,
  grant: {
    amount: Units
    /** A second grant with the same reference changes nothing. */
    reference: Reference
    campaign: string
    actor: string | null
    description: string | null
  },
): Operation {
  return {
    ...UNPRICED,
    id: runtime.id(),
    kind: 'grant',
    amount: grant.amount,
    counter_account: `promo:${grant.campaign}`,
    reference: grant.reference,
    actor: grant.actor,
    description: grant.description,
    at: runtime.now(),
  }
}

/** A correction by the operator. */
export interface Adjustment {
  /** The signed amount, never 0. */
  amount: Units
  /** A second adjustment with the same id changes nothing. */
  id: string
  actor: string
  reason: string
  /** Allows the adjustment to take more than is available. */
  force?: boolean | undefined
}

/**
 * Corrects a balance.
 * @throws SvcError `validation_error` for an amount of 0, an empty reason, another amount than an earlier adjustment with
 * the same id, a balance further from 0 than `GIVEN_BALANCE_MAX`, or, without `force`, for taking more than is available.
 */
export async function adjust(
  stores: Pick<Writes, 'credits'>,
  workspaceId: string,
  adjustment: Adjustment,
  runtime: Pick<Runtime, 'id' | 'now'>,
): Promise<{ entry: Entry; repeated: boolean }> {
  const { amount, id, reason, force = false } = adjustment
  if (amount === 0) throw invalid('amount', 'An adjustment must not be 0 credits')
  if (reason.trim() === '') throw invalid('reason', 'An adjustment needs a reason')
  const operation = adjustmentOperation(adjustment, runtime)
  await assertRoom(stores, workspaceId, operation)
  const posted = await stores.credits.post(workspaceId, operation)
  if (!posted.ok) {
    if (posted.reason !== 'ref_conflict')
      throw new Error(`an adjustment was refused: ${posted.reason}`)
    const booked = withUnit(posted.standing.amount)
    throw invalid('id', `Adjustment ${id} was booked before, of ${booked}`)
  }
  if ('repeated' in posted) return { entry: posted.repeated, repeated: true }
  const left = availableOf(posted.account)
  if (amount < 0 && left < 0 && !force) {
    const available = withUnit(Math.max(0, left - amount) as Units)
    throw invalid('amount', `At most ${available} can be taken`)
  }
  return { entry: posted.entry, repeated: false }
}

function adjustmentOperation(
  { amount, id, actor, reason }: Adjustment,
  runtime: Pick<Runtime, 'id' | 'now'>,
): Operation {
  return {
    ...UNPRICED,
    id: runtime.id(),
    kind: 'adjustment',
    amount,
    counter_account: 'adjust:operator',
    reference: { type: 'adjustment', id, n: 0 },
    actor,
    description: reason,
    at: runtime.now(),
  }
}

/**
 * The maximum distance from 0 to which grants and adjustments may move a balance: 500,000,000 credits, half of what an
 * account can count. The other half is for bookings that must not be refused: paid purchases, refunds and clawbacks.
 */
export const GIVEN_BALANCE_MAX = (500_000_000 * UNITS_PER_CREDIT) as Units

/**
 * Locks the account and checks `GIVEN_BALANCE_MAX`. Always accepts an operation that was booked before or brings the
 * balance nearer to 0.
 * @throws SvcError `validation_error`
 */
async function assertRoom(
  { credits }: Pick<Writes, 'credits'>,
  workspaceId: string,
  { kind, amount, reference }: Operation,
): Promise<void> {
  const account = await credits.lock(workspaceId)
  const after = (account?.balance ?? 0) + amount
  const isOutwards = Math.sign(after) === Math.sign(amount)
  if (Math.abs(after) <= GIVEN_BALANCE_MAX || !isOutwards) return
  const about = await credits.entriesAbout(workspaceId, [reference.id])
  const { type, n } = reference
  if (about.some((each) => each.kind === kind && each.ref_type === type && each.ref_n === n)) return
  const max = formatCredits(GIVEN_BALANCE_MAX)
  const where = amount > 0 ? `above ${max}` : `below -${max}`
  throw invalid('amount', `This would bring the balance ${where} credits`)
}
