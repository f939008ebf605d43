import { type Units, units } from '../contract/fields/units.ts'
import type { PurchaseRow } from '../rows/rows.ts'
import type { Entry } from '../rules/decide.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { PurchaseChange } from '../storage/ports/billing.ts'
import type { Storage } from '../storage/ports/storage.ts'
import type { Payment, PaymentProvider, PaymentState } from './payment.ts'
import { correction, creditsFor, mismatchOf, statusFor } from './sync.ts'

/** What bringing a purchase to its payment changed. */
export interface Synced {
  before: PurchaseRow
  after: PurchaseRow
  /** What was booked: below zero where it was taken. */
  credits: Units
}

/** How often a purchase may be changed by others between look and write before it is a fault. */
const TRIES_MAX = 20

/**
 * Brings a purchase to how its payment stands now, whatever was heard of it: the only writer of what was paid, and safe
 * to run at the same time as itself. Null where the provider knows nothing of it, or another one took the payment.
 * @throws Error when the provider could not be asked, or what it says could not be booked: nothing was changed then.
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
      // Asked outside of any transaction, after the row was read: whoever changed that since is seen by its version.
      const state = await payments.look(payment)
      if (!state) return null
      const synced = await write({ storage, runtime }, purchase, state)
      if (synced) return synced
      purchase = await storage.read.purchases.byId(purchase.workspace_id, purchase.id)
    }
    throw new Error(`purchase ${found.id} changes all the time`)
  }
}

/** A purchase as its provider knows it; null where there is no session yet. */
export function paymentOf(purchase: PurchaseRow): Payment | null {
  const { session_id, status, amount, currency, expires_at } = purchase
  return session_id === null ? null : { session_id, status, amount, currency, expires_at }
}

/**
 * Brings a purchase and its credits to the state that was seen, unless the purchase was changed since it was read: null
 * then. The version rises even where nothing else changes: else somebody who looked before us could write after us what
 * is past.
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
    runtime.log.error(fields, 'a payment is not what was asked for')
  }
  return synced
}

/** A payment that is not what was asked for grants nothing, nor takes what was granted: an operator decides. */
function changeOf(purchase: PurchaseRow, state: PaymentState, at: Date): PurchaseChange {
  const payment_id = state.payment_id ?? purchase.payment_id
  const review_reason = mismatchOf(purchase, state)
  if (review_reason !== null) {
    // What had gone back, and so was closed, may come back: a refund that fails, a dispute that is won.
    const isClosed = purchase.status === 'refunded' || purchase.status === 'disputed'
    const status = isClosed ? 'pending' : purchase.status
    return { status, payment_id, review_reason, updated_at: at }
  }
  const paid_at = purchase.paid_at ?? (state.status === 'paid' ? at : null)
  return { status: statusFor(state), payment_id, review_reason, paid_at, updated_at: at }
}

/** An operator may have named a grant or an adjustment by the purchase: that is not what was paid for. */
function ownOf(entries: readonly Entry[]): Entry[] {
  return entries.filter(({ ref_type }) => ref_type === 'purchase')
}

function bookedOf(entries: readonly Entry[]): Units {
  return units(entries.reduce((sum, { amount }) => sum + amount, 0))
}
