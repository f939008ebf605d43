import { type Actor, auditRow, SERVICE } from '../audit/entry.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import type { Units } from '../contract/fields/units.ts'
import {
  type CreditPackage,
  billing as endpoints,
  type Transaction,
} from '../contract/resources/billing.ts'
import type { PurchaseRow } from '../rows/rows.ts'
import type { PurchaseStatus, WhichPurchases } from '../storage/ports/billing.ts'
import { type Checkout, type CheckoutParts, createCheckout } from './checkout.ts'
import type { Notification, Subject } from './payment.ts'
import { createSyncAll, type SyncOptions, type SyncReport } from './sync-all.ts'
import { createSyncPurchase, paymentOf } from './sync-purchase.ts'
import { transactionOf } from './transactions.ts'

/** A purchase, as an operator sees it. */
export interface Purchase {
  id: string
  workspace_id: string
  package_id: string
  status: PurchaseStatus
  /** The credits that the workspace gets, bonus included, in micro-credits. */
  credits: Units
  /** The price in minor units of its currency. */
  amount: number
  currency: string
  provider: string
  /** The checkout session at the payment provider; null until it has answered. */
  session_id: string | null
  /** The payment of the session; null until it is known. */
  payment_id: string | null
  checkout_url: string | null
  success_url: string | null
  cancel_url: string | null
  /** The number of changes to this purchase. */
  version: number
  /** Why an operator should look at it. While this is set, nothing is granted. */
  review_reason: string | null
  expires_at: Date | null
  created_at: Date
  updated_at: Date
  paid_at: Date | null
}

/** Selling credits: purchases, what payment providers tell of them, refunds. */
export interface Billing {
  /** What can be bought. */
  packages(): CreditPackage[]
  /**
   * Begins a purchase and answers where to pay. With the key of an earlier request, that one's answer.
   * @throws SvcError `insufficient_credits` where no payment is taken or this one is refused; `validation_error` for an
   * unknown package, or another request under the key.
   */
  checkout: Checkout
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
   * One purchase. For operators.
   * @throws SvcError `not_found`, also for another workspace's.
   */
  purchase(workspaceId: string, purchaseId: string): Promise<Purchase>
  /** Purchases, newest first, of every workspace unless one is named. For operators. */
  purchases(which: WhichPurchases, page: { limit: number; offset: number }): Promise<Purchase[]>
  /**
   * Gives all of a payment back and takes the credits, below zero if need be; of one in review, which granted none, the
   * payment alone. For operators.
   * @throws SvcError `not_found`, also for another workspace's; `validation_error` when nothing was paid.
   */
  refund(workspaceId: string, purchaseId: string, actor?: Actor): Promise<Purchase>
  /**
   * Compares the purchases of a time with their payments, and repairs what was missed; one that cannot be compared is
   * reported, and stops no other. For operators.
   * @throws SvcError `validation_error` where no payment is taken.
   */
  sync(options?: SyncOptions): Promise<SyncReport>
}

/** Credit packages, purchases and what came of them. Without `payments` nothing can be bought. */
export function createBilling(parts: CheckoutParts): Billing {
  const { storage, runtime, packages, payments } = parts

  const syncPurchase = payments && createSyncPurchase({ storage, runtime, payments })

  /** The purchase that a notification is about: by what we know of it, or else by what the payment says itself. */
  async function purchaseOf({ session_id, payment_id }: Subject): Promise<PurchaseRow | null> {
    const { purchases } = storage.read
    if (session_id) return purchases.bySession(session_id)
    if (!payment_id) return null
    const known = await purchases.byPayment(payment_id)
    if (known) return known
    const order = await payments?.orderOf?.(payment_id)
    return order ? purchases.byId(order.workspace_id, order.purchase_id) : null
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
      const purchase = await purchaseOf(about)
      if (purchase && (await syncPurchase?.(purchase))) return
      // Somebody may have paid who gets nothing: after a restore from before the purchase, or under another account's key.
      if (about.session_id || about.payment_id) {
        runtime.log.warn(
          { ...about, purchase_id: purchase?.id ?? null },
          'a payment notification changed nothing: no purchase of ours, or no payment that can be asked about',
        )
      }
    },
    bySession: (sessionId) => storage.read.purchases.bySession(sessionId),
    async purchase(workspaceId, purchaseId) {
      const purchase = await storage.read.purchases.byId(workspaceId, purchaseId)
      if (purchase) return purchase
      throw new SvcError('not_found', 'Purchase not found')
    },
    purchases: (which, page) => storage.read.purchases.list(which, page),
    async refund(workspaceId, purchaseId, actor = SERVICE) {
      const purchase = await storage.read.purchases.byId(workspaceId, purchaseId)
      if (!purchase) throw new SvcError('not_found', 'Purchase not found')
      const payment = paymentOf(purchase)
      if (!payments || !syncPurchase || !payment || !mayBePaid(purchase)) {
        throw invalid('purchase_id', 'Nothing was paid for this purchase')
      }
      // Before the provider is asked: a refund whose answer is lost is recorded too.
      const refunded = {
        workspace_id: workspaceId,
        action: 'purchase.refunded',
        target: { type: 'purchase', id: purchaseId },
      } as const
      await storage.write(({ audit }) => audit.record(auditRow(runtime, actor, refunded)))
      await payments.refund(payment)
      return (await syncPurchase(purchase))?.after ?? purchase
    },
    sync: createSyncAll({ storage, runtime, payments }),
  }
}

/** A payment in review was made, or is under way: the provider knows which. */
function mayBePaid({ paid_at, review_reason }: PurchaseRow): boolean {
  return paid_at !== null || review_reason !== null
}
