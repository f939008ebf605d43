import { setImmediate as turn } from 'node:timers/promises'
import { type Actor, auditRow, SERVICE } from '../audit/entry.ts'
import type { Form } from '../contract/endpoints/endpoint.ts'
import type { Slice } from '../contract/endpoints/paging.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import { type Units, units } from '../contract/fields/units.ts'
import {
  type CreditPackage,
  billing as endpoints,
  type Transaction,
} from '../contract/resources/billing.ts'
import type { Channel } from '../contract/resources/content.ts'
import {
  type Spending,
  type SpendingFilter,
  type Statement,
  spendingOf,
  statementOf,
} from '../credits/spending.ts'
import type { LedgerOpeningRow, PurchaseRow } from '../rows/rows.ts'
import type { Entry } from '../rules/decide.ts'
import type { PurchaseStatus, WhichPurchases } from '../storage/ports/stores.ts'
import { type Checkout, type CheckoutParts, createCheckout } from './checkout.ts'
import type { Notification, Subject } from './payment.ts'
import { createSyncAll, type SyncOptions, type SyncReport } from './sync-all.ts'
import { createSyncPurchase, paymentOf } from './sync-purchase.ts'
import type { ExportedTransaction } from './transaction-lines.ts'

/** A purchase, for operators. */
export interface Purchase {
  id: string
  workspace_id: string
  package_id: string
  status: PurchaseStatus
  /** The bought credits, including the bonus, in micro-credits. */
  credits: Units
  /** The price in minor units of its currency. */
  amount: number
  currency: string
  provider: string
  /** The checkout session at the payment provider; null until the provider has opened it. */
  session_id: string | null
  /** The payment of the session; null until it is known. */
  payment_id: string | null
  checkout_url: string | null
  success_url: string | null
  cancel_url: string | null
  /** The number of changes to this purchase. */
  version: number
  /** The reason why an operator must review the purchase. While a reason is set, no credits are granted or taken. */
  review_reason: string | null
  expires_at: Date | null
  created_at: Date
  updated_at: Date
  paid_at: Date | null
}

/** The sale of credits: purchases, notifications of payment providers, refunds. */
export interface Billing<F extends Form = 'given'> {
  /** The packages that can be bought, in the order of the option `credit_packages`; credits are whole micro-credits. */
  packages(): CreditPackage[]
  /**
   * Begins a purchase and returns the payment page. A repeated idempotency key returns the result of the earlier request.
   * @throws SvcError `insufficient_credits` when no provider is configured or the provider refuses; `validation_error` for an
   * unknown package, or a key that was used with another request.
   */
  checkout: Checkout<F>
  /**
   * Returns a page of the changes of the balance, newest first, and the total number of all changes. A change of type
   * `opening` stands for older changes by messages, which were removed; older changes that no message caused follow it. `after` is a `next_after`.
   * `is_funding`: only the changes that no message caused, such as purchases and grants; `offset` is then ignored.
   * @throws SvcError `validation_error` for any other `after`.
   */
  transactions(
    workspaceId: string,
    page: Slice & { is_funding?: boolean | undefined },
  ): Promise<{ transactions: Transaction[]; total: number; next_after: string | null }>
  /**
   * The changes of the available credits in pages, newest first, without those that are made meanwhile: at most `limit`, after the
   * change with the number `after`; with `only`, those that no message caused. As in `transactions`, an `opening` stands for older changes that were removed.
   * @throws SvcError `validation_error` for any other `after`.
   */
  exportTransactions(
    workspaceId: string,
    part: { limit: number; after?: string | undefined; only?: 'funding' | undefined },
  ): AsyncGenerator<ExportedTransaction[]>
  /** Why the credits of the last days changed, by day, kind, channel, key, bulk and broadcast. @throws SvcError `not_found`. */
  spending(workspaceId: string, filter: SpendingFilter): Promise<Spending>
  /** The statement of a month (UTC), such as `2026-05`. */
  statement(workspaceId: string, month: string): Promise<Statement>
  /**
   * Synchronizes the purchase of a notification with the payment's current state at the provider. The content of the
   * notification is only a hint, because a notification may come twice, late, or at the same time as another notification.
   * @throws SvcError `validation_error` if the signature is not valid or no payment provider is configured.
   */
  notify(notification: Notification): Promise<void>
  /** The purchase of a session at the payment provider, in any workspace. */
  bySession(sessionId: string): Promise<Purchase | null>
  /**
   * One purchase, for operators.
   * @throws SvcError `not_found`, also for a purchase of another workspace.
   */
  purchase(workspaceId: string, purchaseId: string): Promise<Purchase>
  /** Purchases, newest first, for operators. Default: the purchases of every workspace. */
  purchases(which: WhichPurchases, page: Slice): Promise<Purchase[]>
  /**
   * Refunds a whole payment, for operators. Takes the credits back unless the purchase is in review; the balance may be below 0.
   * The audit log records `reason`.
   * @throws SvcError `not_found`, also for a purchase of another workspace; `validation_error` when nothing was paid.
   */
  refund(
    workspaceId: string,
    purchaseId: string,
    actor?: Actor,
    reason?: string | undefined,
  ): Promise<Purchase>
  /**
   * Compares one purchase with its payment and repairs a difference, for operators. The audit log records `reason`.
   * @throws SvcError `not_found`, also for a purchase of another workspace; `validation_error` when the payment provider does
   * not know the payment, or none is configured.
   */
  check(
    workspaceId: string,
    purchaseId: string,
    actor?: Actor,
    reason?: string | undefined,
  ): Promise<Purchase>
  /**
   * Compares recent purchases with their payments and repairs differences, for operators. A purchase that cannot be
   * compared is reported and does not stop the comparison of the others.
   * @throws SvcError `validation_error` when no payment provider is configured.
   */
  sync(options?: SyncOptions): Promise<SyncReport>
}

/** If `payments` is absent, no package can be bought. */
export function createBilling(parts: CheckoutParts): Billing<'decoded'> {
  const { storage, runtime, packages, payments } = parts

  const syncPurchase = payments && createSyncPurchase({ storage, runtime, payments })

  /** Finds the purchase of a notification in our rows, otherwise through the metadata of the payment. */
  async function purchaseOf({ session_id, payment_id }: Subject): Promise<PurchaseRow | null> {
    const { purchases } = storage.read
    if (session_id) return purchases.bySession(session_id)
    if (!payment_id) return null
    const known = await purchases.byPayment(payment_id)
    if (known) return known
    const order = await payments?.orderOf?.(payment_id)
    return order ? purchases.byId(order.workspace_id, order.purchase_id) : null
  }

  async function purchaseIn(workspaceId: string, purchaseId: string): Promise<PurchaseRow> {
    const purchase = await storage.read.purchases.byId(workspaceId, purchaseId)
    if (purchase) return purchase
    throw new SvcError('not_found', 'Purchase not found')
  }

  /** Records an act of an operator. */
  async function record(
    { id, workspace_id }: PurchaseRow,
    action: 'purchase.refunded' | 'purchase.checked',
    actor: Actor,
    reason: string | undefined,
  ): Promise<void> {
    const target = { type: 'purchase', id }
    const change = { workspace_id, action, target, details: { ...(reason && { reason }) } }
    await storage.write(({ audit }) => audit.record(auditRow(runtime, actor, change)))
  }

  /** A part of the list with the places of its transactions, newest first: the opening stands among the entries. */
  async function listed(
    workspaceId: string,
    { limit, ...part }: { end: number; skipped: number; limit: number; is_funding: boolean },
    opening: LedgerOpeningRow | null,
  ): Promise<{ at: number; transaction: Transaction }[]> {
    const { page, place } = pageOf(part, opening)
    if (page.seq < 1) return []
    const { is_funding } = part
    const entries = await storage.read.credits.entriesFrom(workspaceId, {
      ...{ ...page, limit, is_funding },
    })
    const found = entries.map((entry) => ({ at: entry.seq, transaction: transactionOf(entry) }))
    if (opening && place !== null) {
      const older = found.findIndex(({ at }) => at < place)
      const at = older === -1 ? found.length : older
      found.splice(at, 0, { at: place, transaction: openingTransaction(opening) })
    }
    return found.slice(0, limit)
  }

  return {
    packages: () => [...packages],
    checkout: createCheckout(parts),
    async transactions(workspaceId, { limit, offset, after, is_funding = false }) {
      // Entries are numbered from 1 without gaps, so the newest number is the number of entries.
      const newest = (await storage.read.credits.account(workspaceId))?.seq ?? 0
      const opening = await storage.read.ledgerOpenings.of(workspaceId)
      const total = opening ? newest - opening.entries + 1 : newest
      const end = after === undefined ? newest + 1 : Math.min(newest + 1, numberOf(after))
      const skipped = is_funding ? 0 : offset
      const shown = await listed(workspaceId, { end, skipped, limit, is_funding }, opening)
      const oldest = shown.at(-1)?.at ?? 1
      const isLast = is_funding || opening ? shown.length < limit : oldest <= 1
      const next_after = isLast ? null : String(oldest)
      return { transactions: shown.map(({ transaction }) => transaction), total, next_after }
    },
    async *exportTransactions(workspaceId, { limit, after, only }) {
      const newest = (await storage.read.credits.account(workspaceId))?.seq ?? 0
      let end = after === undefined ? newest + 1 : Math.min(newest + 1, numberOf(after))
      const is_funding = only === 'funding'
      for (let rest = limit; rest > 0; ) {
        const part = { end, skipped: 0, limit: Math.min(EXPORT_PAGE, rest), is_funding }
        // Read for each page, because a fold may remove entries meanwhile.
        const opening = await storage.read.ledgerOpenings.of(workspaceId)
        const page = await listed(workspaceId, part, opening)
        const oldest = page.at(-1)
        if (!oldest) return
        yield page.map(({ at, transaction }) => ({ number: at, ...transaction }))
        rest -= page.length
        end = oldest.at
        // A database in this thread blocks the event loop, so other work gets its turn between two pages.
        await turn()
      }
    },
    spending: (workspaceId, filter) => spendingOf({ storage, runtime }, workspaceId, filter),
    statement: (workspaceId, month) => statementOf({ storage }, workspaceId, month),
    async notify(notification) {
      const about = await payments?.read(notification)
      if (!about) {
        throw invalid(endpoints.notify.signed_by, 'The payment notification has no valid signature')
      }
      const purchase = await purchaseOf(about)
      if (purchase && (await syncPurchase?.(purchase))) return
      // The payer may get no credits. Possible causes: a restore of an older backup, or the key of another Stripe account.
      if (about.session_id || about.payment_id) {
        runtime.log.warn(
          { ...about, purchase_id: purchase?.id ?? null },
          'a payment notification changed nothing: its purchase or its payment is unknown',
        )
      }
    },
    bySession: (sessionId) => storage.read.purchases.bySession(sessionId),
    purchase: purchaseIn,
    purchases: (which, page) => storage.read.purchases.list(which, page),
    async refund(workspaceId, purchaseId, actor = SERVICE, reason) {
      const purchase = await purchaseIn(workspaceId, purchaseId)
      const payment = paymentOf(purchase)
      if (!payments || !syncPurchase || !payment || !mayBePaid(purchase)) {
        throw invalid('purchase_id', 'Nothing was paid for this purchase')
      }
      // The audit entry is written before the request to the provider, in case the response gets lost.
      await record(purchase, 'purchase.refunded', actor, reason)
      await payments.refund(payment)
      return (await syncPurchase(purchase))?.after ?? purchase
    },
    async check(workspaceId, purchaseId, actor = SERVICE, reason) {
      const purchase = await purchaseIn(workspaceId, purchaseId)
      if (!syncPurchase) throw invalid('purchase_id', 'No payment provider is configured')
      const synced = await syncPurchase(purchase)
      if (!synced) throw invalid('purchase_id', 'The payment provider does not know the payment')
      await record(purchase, 'purchase.checked', actor, reason)
      return synced.after
    },
    sync: createSyncAll({ storage, runtime, payments }),
  }
}

/** The entries of a page of an export. */
const EXPORT_PAGE = 500

/** A payment in review was made or is in progress; only the provider knows which of the two is true. */
function mayBePaid({ paid_at, review_reason }: PurchaseRow): boolean {
  return paid_at !== null || review_reason !== null
}

/** The number of the entry in a `next_after` of `transactions`. @throws SvcError `validation_error` for another text. */
function numberOf(after: string): number {
  if (/^[1-9]\d{0,14}(\.5)?$/.test(after)) return Number(after)
  throw invalid('after', 'after must be the next_after of an earlier page')
}

/**
 * The entries of a page of the list that ends before the place `end`, and the place of the opening if it can be on the page.
 * An opening stands between the last entry that it stands for and the next one. Older numbers are missing, so that a
 * position among them is counted.
 */
function pageOf(
  { end, skipped, is_funding }: { end: number; skipped: number; is_funding: boolean },
  opening: LedgerOpeningRow | null,
): { page: { seq: number; offset: number }; place: number | null } {
  const first = Math.ceil(end) - 1
  if (!opening || is_funding) return { page: { seq: first - skipped, offset: 0 }, place: null }
  const place = opening.seq + 0.5
  const newer = Math.max(0, first - opening.seq)
  const isBelow = place < end
  if (skipped <= newer) {
    return { page: { seq: first - skipped, offset: 0 }, place: isBelow ? place : null }
  }
  const offset = skipped - newer - (isBelow ? 1 : 0)
  return { page: { seq: Math.min(first, opening.seq), offset }, place: null }
}

/** The sum of removed entries as their workspace sees it. */
function openingTransaction(opening: LedgerOpeningRow): Transaction {
  const { id, amount, held_delta, balance, held, entries, last_at } = opening
  return {
    id,
    type: 'opening',
    credits: units(amount - held_delta),
    balance_after: units(balance - held),
    description: `Sum of ${entries} older transactions of messages`,
    channel: null,
    reference: { type: 'opening', id },
    created_at: last_at,
  }
}

/**
 * A ledger entry as its workspace sees it: amounts are changes of the available credits, as in `credits_balance`. Holds
 * are entries too, so each `balance_after` is the `balance_after` of the previous entry plus `credits`.
 */
export function transactionOf(entry: Entry): Transaction {
  return {
    id: entry.id,
    type: entry.kind,
    credits: units(entry.amount - entry.held_delta),
    balance_after: units(entry.balance_after - entry.held_after),
    description: entry.description,
    channel: entry.channel as Channel | null,
    reference: { type: entry.ref_type, id: entry.ref_id },
    created_at: entry.created_at,
  }
}
