import type { Slice } from '../../contract/endpoints/paging.ts'
import type { PurchaseRow } from '../../rows/rows.ts'
import type { IdempotencyRecord } from '../../rules/accept.ts'

/** The last known status of a purchase. */
export type PurchaseStatus = 'pending' | 'paid' | 'failed' | 'expired' | 'refunded' | 'disputed'

/** Selects purchases; an absent field does not restrict the list. */
export interface WhichPurchases {
  workspace_id?: string | undefined
  status?: PurchaseStatus | undefined
  /** Only purchases that an operator must review. */
  in_review?: boolean | undefined
}

/** Selects a provider's purchases since a time: with a session, or pending without a session. */
export interface BegunPurchases {
  provider: string
  since: Date
  workspace_id?: string | undefined
}

export interface PurchaseReads {
  byId(workspaceId: string, purchaseId: string): Promise<PurchaseRow | null>
  /** Searches all workspaces: a payment provider names only its own session. */
  bySession(sessionId: string): Promise<PurchaseRow | null>
  /** Searches all workspaces: a payment provider names only its own payment. */
  byPayment(paymentId: string): Promise<PurchaseRow | null>
  /** Returns the oldest first: either the pending purchases or all others. `after`: only later purchases. */
  begun(
    which: BegunPurchases,
    page: {
      is_pending: boolean
      after: Pick<PurchaseRow, 'created_at' | 'id'> | null
      limit: number
    },
  ): Promise<PurchaseRow[]>
  /** The number of these purchases, on all pages. */
  countBegun(which: BegunPurchases): Promise<number>
  /** Returns the newest first, from every workspace by default. */
  list(which: WhichPurchases, page: Slice): Promise<PurchaseRow[]>
}

/** The columns that change after a purchase is made. */
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
   * Changes the purchase and raises its version, if the version is still `read.version`. Returns false, and writes
   * nothing, if the purchase changed meanwhile.
   */
  change(
    read: Pick<PurchaseRow, 'workspace_id' | 'id' | 'version'>,
    change: PurchaseChange,
  ): Promise<boolean>
}

/** Responses to requests with an `Idempotency-Key`, of routes that do not use `hot`. */
export interface IdempotencyReads {
  byKey(
    workspaceId: string,
    request: Pick<IdempotencyRecord, 'route' | 'key'>,
  ): Promise<Pick<IdempotencyRecord, 'request_hash' | 'response'> | null>
}

export interface IdempotencyWrites {
  /** Stores the response, unless this route and key have one; returns whether it was stored. */
  keepFirst(workspaceId: string, answer: IdempotencyRecord, at: Date): Promise<boolean>
  /** Removes a response, so that the key can be used again. */
  forget(workspaceId: string, request: Pick<IdempotencyRecord, 'route' | 'key'>): Promise<void>
}
