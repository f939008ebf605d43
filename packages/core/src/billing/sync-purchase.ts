import { type Units, units } from '../contract/fields/units.ts'
import type { PurchaseRow } from '../rows/rows.ts'
import { type Entry, type Operation, UNPRICED } from '../rules/decide.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'
import type { PurchaseChange, PurchaseStatus } from '../storage/ports/stores.ts'
import type { Payment, PaymentProvider, PaymentState } from './payment.ts'

/** A purchase before and after the comparison with its payment. */
export interface Synced {
  before: PurchaseRow
  after: PurchaseRow
  /** The booked credits; negative when credits were taken. */
  credits: Units
}

/** The maximum number of tries. Each concurrent change between the look-up and the write causes another try. */
const TRIES_MAX = 20

/**
 * Brings a purchase to the current state of its payment. No other code writes payments; concurrent calls are safe.
 * Returns null when the provider does not know the payment, or when the payment belongs to another provider.
 * @throws Error when the provider cannot be reached or the credits cannot be booked; in both cases nothing has changed.
 */
export function createSyncPurchase({
  storage,
  runtime,
  payments,
}: {
  storage: Storage
  runtime: Runtime
  payments: PaymentProvider
}): (purchase: PurchaseRow) => Promise<Synced | null> {
  return async (found) => {
    let purchase: PurchaseRow | null = found
    for (let i = 0; i < TRIES_MAX && purchase; i++) {
      const payment = paymentOf(purchase)
      if (!payment || purchase.provider !== payments.name) return null
      // The state is read after the row and outside a transaction: `version` shows whether the row has changed meanwhile.
      const state = await payments.look(payment)
      if (!state) return null
      const synced = await write({ storage, runtime }, purchase, state)
      if (synced) return synced
      purchase = await storage.read.purchases.byId(purchase.workspace_id, purchase.id)
    }
    throw new Error(`purchase ${found.id} was changed ${TRIES_MAX} times during the comparison`)
  }
}

/** The payment of a purchase; null if the purchase has no session. */
export function paymentOf(purchase: PurchaseRow): Payment | null {
  const { session_id, status, amount, currency, expires_at } = purchase
  return session_id === null ? null : { session_id, status, amount, currency, expires_at }
}

/**
 * Brings a purchase and its credits to `state`. Returns null if the purchase changed since it was read. The version rises
 * even if nothing else changes: otherwise a concurrent process could later write an older state of the payment.
 */
async function write(
  { storage, runtime }: { storage: Storage; runtime: Runtime },
  purchase: PurchaseRow,
  state: PaymentState,
): Promise<Synced | null> {
  const { workspace_id, id } = purchase
  const change = changeOf(purchase, state, runtime.now())
  const synced = await storage.write(async ({ purchases, credits }) => {
    if (!(await purchases.change(purchase, change))) return null
    const after = { ...purchase, ...change, version: purchase.version + 1 }
    if (after.review_reason !== null) return { before: purchase, after, credits: units(0) }
    const standing = ownOf(await credits.entriesAbout(workspace_id, [id]))
    const entry = correction(runtime, purchase, {
      booked: bookedOf(standing),
      target: creditsFor(purchase, state),
      isFirst: standing.length === 0,
    })
    if (!entry) return { before: purchase, after, credits: units(0) }
    const posted = await credits.post(workspace_id, entry)
    if (!posted.ok) throw new Error(`purchase ${id} was not booked: ${posted.reason}`)
    return { before: purchase, after, credits: entry.amount }
  })
  const review_reason = synced?.after.review_reason ?? null
  if (review_reason !== null && review_reason !== purchase.review_reason) {
    const { amount, currency } = state
    const fields = { purchase_id: id, workspace_id, review_reason, amount, currency }
    runtime.log.error(fields, 'a payment differs from its purchase')
  }
  return synced
}

/** A payment with another amount or currency neither grants nor takes credits: an operator decides. */
function changeOf(purchase: PurchaseRow, state: PaymentState, at: Date): PurchaseChange {
  const payment_id = state.payment_id ?? purchase.payment_id
  const review_reason = mismatchOf(purchase, state)
  if (review_reason !== null) {
    // A closed purchase may reopen, because its refund fails or its dispute is won.
    const isClosed = purchase.status === 'refunded' || purchase.status === 'disputed'
    const status = isClosed ? 'pending' : purchase.status
    return { status, payment_id, review_reason, updated_at: at }
  }
  const paid_at = purchase.paid_at ?? (state.status === 'paid' ? at : null)
  return { status: statusFor(state), payment_id, review_reason, paid_at, updated_at: at }
}

/** Leaves out grants and adjustments for which an operator named the purchase as the reference. */
function ownOf(entries: readonly Entry[]): Entry[] {
  return entries.filter(({ ref_type }) => ref_type === 'purchase')
}

function bookedOf(entries: readonly Entry[]): Units {
  return units(entries.reduce((sum, { amount }) => sum + amount, 0))
}

/**
 * The difference between a payment and its purchase, as `review_reason`. Null when there is no difference, or when the
 * whole payment was reversed, which needs no decision.
 */
export function mismatchOf(
  { amount, currency }: Pick<PurchaseRow, 'amount' | 'currency'>,
  state: PaymentState,
): string | null {
  if (state.status === 'paid' && state.amount > 0 && state.reversed >= state.amount) return null
  if (state.currency !== currency) return 'currency_mismatch'
  return state.amount === amount ? null : 'amount_mismatch'
}

/** The status of a purchase for the state of its payment. */
export function statusFor(state: PaymentState): PurchaseStatus {
  const { status, amount, reversed, disputed } = state
  if (status !== 'paid') return status === 'open' ? 'pending' : status
  if (disputed && reversed > 0) return 'disputed'
  return reversed >= amount ? 'refunded' : 'paid'
}

/**
 * The total credits of a purchase for the state of its payment. If a part of the payment is reversed, the same part of the
 * credits is taken, rounded in the workspace's favour.
 */
export function creditsFor({ credits }: Pick<PurchaseRow, 'credits'>, state: PaymentState): Units {
  const { status, amount, reversed } = state
  if (status !== 'paid') return units(0)
  // The product may exceed 2^53.
  const back = (BigInt(credits) * BigInt(Math.min(reversed, amount))) / BigInt(amount)
  return units(credits - Number(back))
}

/**
 * The entry that brings the credits booked for a purchase to `target`; null when they are equal. `isFirst`: whether the
 * purchase has no entry yet.
 */
function correction(
  runtime: Pick<Runtime, 'id' | 'now'>,
  purchase: PurchaseRow,
  { booked, target, isFirst }: { booked: Units; target: Units; isFirst: boolean },
): Operation | null {
  if (target === booked) return null
  // The first entry has the number 0. Each later entry has the new version of the purchase as its number.
  const amount = units(target - booked)
  return {
    ...UNPRICED,
    id: runtime.id(),
    kind: isFirst ? 'purchase' : 'purchase_adjust',
    amount,
    counter_account: `payments:${purchase.provider}`,
    reference: { type: 'purchase', id: purchase.id, n: isFirst ? 0 : purchase.version + 1 },
    actor: null,
    description: `${describe(isFirst, amount)} ${purchase.package_id}`,
    at: runtime.now(),
  }
}

function describe(isFirst: boolean, amount: Units): string {
  if (isFirst) return 'Purchase of package'
  return amount < 0 ? 'Payment taken back for package' : 'Payment reinstated for package'
}
