import { invalid } from '../contract/errors.ts'
import { formatCredits, type Units } from '../contract/fields/units.ts'
import { availableOf, type Entry, type Operation } from '../rules/decide.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Writes } from '../storage/ports/storage.ts'
import { assertRoom } from './room.ts'

/** A correction by the operator. */
export interface Adjustment {
  /** Signed, never 0. */
  amount: Units
  /** Booked once: an adjustment with the same id again changes nothing. */
  id: string
  actor: string
  reason: string
  /** Whether it may take more than is available. */
  force?: boolean | undefined
}

/**
 * Corrects a balance.
 * @throws SvcError `validation_error` for an amount of 0, an empty reason, another amount than the earlier
 * adjustment's of that id, one that brings the balance further from 0 than `GIVEN_BALANCE_MAX`, and for taking more than
 * is available without `force`.
 */
export async function adjust(
  stores: Pick<Writes, 'credits'>,
  workspaceId: string,
  adjustment: Adjustment,
  runtime: Pick<Runtime, 'id' | 'now'>,
): Promise<{ entry: Entry; repeated: boolean }> {
  const { amount, id, reason, force = false } = adjustment
  if (amount === 0) throw invalid('amount', 'An adjustment must not be of 0 credits')
  if (reason.trim() === '') throw invalid('reason', 'An adjustment needs a reason')
  const operation = adjustmentOperation(adjustment, runtime)
  await assertRoom(stores, workspaceId, operation)
  const posted = await stores.credits.post(workspaceId, operation)
  if (!posted.ok) {
    if (posted.reason !== 'ref_conflict') throw new Error(`a fact was refused: ${posted.reason}`)
    const booked = formatCredits(posted.standing.amount)
    throw invalid('id', `Adjustment ${id} was booked before, of ${booked} credits`)
  }
  if ('repeated' in posted) return { entry: posted.repeated, repeated: true }
  const left = availableOf(posted.account)
  if (amount < 0 && left < 0 && !force) {
    const available = formatCredits((left - amount) as Units)
    throw invalid('amount', `There are only ${available} credits available to take`)
  }
  return { entry: posted.entry, repeated: false }
}

function adjustmentOperation(
  { amount, id, actor, reason }: Adjustment,
  runtime: Pick<Runtime, 'id' | 'now'>,
): Operation {
  return {
    id: runtime.id(),
    kind: 'adjustment',
    amount,
    held_delta: 0 as Units,
    counter_account: 'adjust:operator',
    reference: { type: 'adjustment', id, n: 0 },
    channel: null,
    quantity: null,
    unit_price: null,
    resolves: null,
    actor,
    description: reason,
    at: runtime.now(),
  }
}
