import { type CreditPackage, billing as endpoints, type Transaction } from '../contract/billing.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import { type Units, units } from '../contract/units.ts'
import type { Entry } from '../credits/decide.ts'
import type { Runtime } from '../runtime.ts'
import type { PurchaseRow, Storage } from '../storage/storage.ts'
import { type CheckoutParts, createCheckout } from './checkout.ts'
import type { Notification, Payment, PaymentState } from './payment.ts'
import { correction, creditsFor, isPaymentFor, statusFor } from './sync.ts'
import { transactionOf } from './transactions.ts'

/** A purchase, as an operator sees it. */
export type Purchase = PurchaseRow

export interface Billing {
  /** What can be bought. */
  packages(): CreditPackage[]
  /**
   * Begins a purchase and answers where to pay. With the key of an earlier request, that one's answer.
   * @throws SvcError `insufficient_credits` where no payment is taken or this one is refused; `validation_error` for an
   * unknown package, or another request under the key.
   */
  checkout: ReturnType<typeof createCheckout>
  /** The changes of the balance, newest first, and how many there are in all. */
  transactions(
    workspaceId: string,
    page: { limit: number; offset: number },
  ): Promise<{ transactions: Transaction[]; total: number }>
  /**
   * Takes a notification for a hint: whatever it says, the purchase is brought to how its payment stands now. So it may
   * come twice, late, or at the same time as another.
   * @throws SvcError `validation_error` when the provider did not sign it, or there is none.
   */
  notify(notification: Notification): Promise<void>
  /** The purchase of a session at the payment provider, of whatever workspace. */
  bySession(sessionId: string): Promise<Purchase | null>
  /**
   * Gives all of a payment back and takes the credits, below zero if need be. For operators.
   * @throws SvcError `not_found`, also for another workspace's; `validation_error` when nothing was paid.
   */
  refund(workspaceId: string, purchaseId: string): Promise<Purchase>
}

/** How often a purchase may be changed by others between look and write before it is a fault. */
const SYNCS_MAX = 20

/** Credit packages, purchases and what came of them. Without `payments` nothing can be bought. */
export function createBilling(parts: CheckoutParts): Billing {
  const { storage, runtime, packages, payments } = parts

  /** The only writer of what was paid: see `write`. */
  async function sync(sessionId: string): Promise<void> {
    for (let i = 0; i < SYNCS_MAX; i++) {
      const purchase = await storage.read.purchases.bySession(sessionId)
      const payment = purchase && paymentOf(purchase)
      const state = payment && (await payments?.look(payment))
      if (!purchase || !state) return
      if (!isPaymentFor(purchase, state)) {
        runtime.log.error({ purchase_id: purchase.id }, 'a payment is not what was asked for')
        return
      }
      if (await write({ storage, runtime }, purchase, state)) return
    }
    throw new Error(`the purchase of session ${sessionId} changes all the time`)
  }

  return {
    packages: () => [...packages],
    checkout: createCheckout(parts),
    async transactions(workspaceId, { limit, offset }) {
      // Entries are numbered without a gap: their number is the newest one's.
      const total = (await storage.read.credits.account(workspaceId))?.seq ?? 0
      const newest = total - offset
      if (newest <= 0) return { transactions: [], total }
      const entries = await storage.read.credits.entriesFrom(workspaceId, { seq: newest, limit })
      return { transactions: entries.map(transactionOf), total }
    },
    async notify(notification) {
      const about = await payments?.read(notification)
      if (!about) {
        throw invalid(
          endpoints.notify.signed_by,
          'The payment notification is not signed as it must',
        )
      }
      if (about.session_id !== null) await sync(about.session_id)
    },
    bySession: (sessionId) => storage.read.purchases.bySession(sessionId),
    async refund(workspaceId, purchaseId) {
      const purchase = await storage.read.purchases.byId(workspaceId, purchaseId)
      if (!purchase) throw new SvcError('not_found', 'Purchase not found')
      const payment = paymentOf(purchase)
      if (!payments || !payment || purchase.paid_at === null) {
        throw invalid('purchase_id', 'Nothing was paid for this purchase')
      }
      await payments.refund(payment)
      await sync(payment.session_id)
      return (await storage.read.purchases.byId(workspaceId, purchaseId)) ?? purchase
    },
  }
}

/**
 * Brings a purchase and its credits to the state that was seen, unless the purchase was changed since it was read. The
 * version rises even where nothing else changes: else somebody who looked before us could write after us what is past.
 */
async function write(
  { storage, runtime }: { storage: Storage; runtime: Runtime },
  purchase: PurchaseRow,
  state: PaymentState,
): Promise<boolean> {
  const { workspace_id, id } = purchase
  const at = runtime.now()
  const paid_at = purchase.paid_at ?? (state.status === 'paid' ? at : null)
  return storage.write(async ({ purchases, credits }) => {
    const change = { status: statusFor(state), paid_at, updated_at: at }
    if (!(await purchases.change(purchase, change))) return false
    const booked = bookedOf(await credits.entriesAbout(workspace_id, [id]))
    const entry = correction(runtime, purchase, { booked, target: creditsFor(purchase, state) })
    if (!entry) return true
    const posted = await credits.post(workspace_id, entry)
    if (!posted.ok) throw new Error(`purchase ${id} was not booked: ${posted.reason}`)
    return true
  })
}

function bookedOf(entries: readonly Entry[]): Units {
  return units(entries.reduce((sum, { amount }) => sum + amount, 0))
}

function paymentOf(purchase: PurchaseRow): Payment | null {
  const { session_id, status, amount, currency, expires_at } = purchase
  return session_id === null ? null : { session_id, status, amount, currency, expires_at }
}
