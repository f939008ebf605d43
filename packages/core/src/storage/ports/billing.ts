import type { PurchaseRow } from '../../rows/rows.ts'
import type { IdempotencyRecord } from '../../rules/accept.ts'

export type PurchaseStatus = 'pending' | 'paid' | 'failed' | 'expired' | 'refunded' | 'disputed'

/** Which purchases are meant: all, as far as nothing is said. */
export interface WhichPurchases {
  workspace_id?: string | undefined
  status?: PurchaseStatus | undefined
  /** Only those that an operator should look at. */
  in_review?: boolean | undefined
}

/** The purchases of a time that a provider has a session of, and those pending that came to none. */
export interface BegunPurchases {
  provider: string
  since: Date
  workspace_id?: string | undefined
}

export interface PurchaseReads {
  byId(workspaceId: string, purchaseId: string): Promise<PurchaseRow | null>
  /** Of whatever workspace: a payment provider names its own session alone. */
  bySession(sessionId: string): Promise<PurchaseRow | null>
  /** Of whatever workspace: a payment provider names its own payment alone. */
  byPayment(paymentId: string): Promise<PurchaseRow | null>
  /** Oldest first, either those that are pending or all others; `after`: those that come after this one. */
  begun(
    which: BegunPurchases,
    page: {
      is_pending: boolean
      after: Pick<PurchaseRow, 'created_at' | 'id'> | null
      limit: number
    },
  ): Promise<PurchaseRow[]>
  /** How many of them there are in all. */
  countBegun(which: BegunPurchases): Promise<number>
  /** Newest first; of every workspace unless one is named. */
  list(which: WhichPurchases, page: { limit: number; offset: number }): Promise<PurchaseRow[]>
}

/** What changes of a purchase in the course of time. */
export type PurchaseChange = Partial<
  Pick<
    PurchaseRow,
    'status' | 'session_id' | 'payment_id' | 'checkout_url' | 'review_reason' | 'paid_at'
  >
> &
  Pick<PurchaseRow, 'updated_at'>

export interface PurchaseWrites {
  insert(purchase: PurchaseRow): Promise<void>
  /**
   * Changes the purchase and raises its version, if that is still the one that was read. False when somebody else
   * changed it meanwhile: nothing was written then.
   */
  change(
    read: Pick<PurchaseRow, 'workspace_id' | 'id' | 'version'>,
    change: PurchaseChange,
  ): Promise<boolean>
}

/** What requests with an `Idempotency-Key` were answered that do not pass through the hot door. */
export interface IdempotencyReads {
  byKey(
    workspaceId: string,
    request: Pick<IdempotencyRecord, 'route' | 'key'>,
  ): Promise<Pick<IdempotencyRecord, 'request_hash' | 'response'> | null>
}

export interface IdempotencyWrites {
  /** Keeps the answer unless one of that route and key is there; says whether it did. */
  keepFirst(workspaceId: string, answer: IdempotencyRecord, at: Date): Promise<boolean>
  /** Forgets an answer, so that the key may be used again. */
  forget(workspaceId: string, request: Pick<IdempotencyRecord, 'route' | 'key'>): Promise<void>
}
