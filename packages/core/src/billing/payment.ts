/** A purchase, as sent to the payment provider. */
export interface Order {
  workspace_id: string
  purchase_id: string
  /** Shown to the payer. */
  description: string
  /** In minor units of the currency. */
  amount: number
  /** ISO 4217, in capitals. */
  currency: string
  /** The payer's browser goes there after the payment; null for the provider's default. */
  success_url: string | null
  cancel_url: string | null
  expires_at: Date
}

/** The payment page of an order. */
export interface Session {
  session_id: string
  checkout_url: string
}

/** A payment as our rows have it. A provider with its own records needs only the session. */
export interface Payment {
  session_id: string
  status: PurchaseStatus
  amount: number
  currency: string
  expires_at: Date | null
}

/** The last known status of a purchase. */
export type PurchaseStatus = 'pending' | 'paid' | 'failed' | 'expired' | 'refunded' | 'disputed'

/** The current state of a payment at the provider. */
export interface PaymentState {
  /** An `open` payment can still be paid. A paid one stays `paid`, even when refunded or disputed. */
  status: 'open' | 'paid' | 'failed' | 'expired'
  /** The price for the payer, in minor units. */
  amount: number
  /** ISO 4217, in capitals. */
  currency: string
  /** The part of it in refunds, and in disputes that are open or lost. */
  reversed: number
  /** Whether a dispute is open or lost. */
  disputed: boolean
  /** The id that refunds and disputes refer to; null or absent until the session has a payment. */
  payment_id?: string | null
}

/** A request from a provider, not trusted before its signature is verified. */
export interface Notification {
  /** The raw bytes. */
  body: Uint8Array
  /** The header `Stripe-Signature`. */
  signature: string | undefined
}

/** The session or the payment of a notification; both null for one that does not concern us. */
export interface Subject {
  session_id: string | null
  payment_id?: string | null
}

/** A payment provider. It does not know about credits. */
export interface PaymentProvider {
  readonly name: string
  /**
   * Opens a session for an order; a repeated call returns the same session. Null when the provider refuses.
   * @throws Error when the provider cannot be reached; a retry is safe.
   */
  open(order: Order): Promise<Session | null>
  /** The subject of a notification; null without a valid signature. Makes no request. */
  read(notification: Notification): Promise<Subject | null>
  /**
   * The order of a payment; null when it is not ours. Only for providers whose notifications name payments.
   * @throws Error when the provider cannot be reached.
   */
  orderOf?(paymentId: string): Promise<Pick<Order, 'workspace_id' | 'purchase_id'> | null>
  /**
   * The current state of a payment; null when the provider does not know it.
   * @throws Error when the provider cannot be reached.
   */
  look(payment: Payment): Promise<PaymentState | null>
  /**
   * Refunds a whole payment; repeated calls refund it once.
   * @throws SvcError `validation_error` when the provider refuses; Error when it cannot be reached.
   */
  refund(payment: Payment): Promise<void>
}
