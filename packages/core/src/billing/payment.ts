/** A purchase as its payment provider is told of it. */
export interface Order {
  workspace_id: string
  purchase_id: string
  /** What the payer reads. */
  description: string
  /** In minor units of the currency. */
  amount: number
  /** ISO 4217, in capitals. */
  currency: string
  /** Where the payer goes then; null: nowhere of ours. */
  success_url: string | null
  cancel_url: string | null
  expires_at: Date
}

/** Where to pay an order. */
export interface Session {
  session_id: string
  checkout_url: string
}

/** A payment as we have it: a provider with books of its own needs no more than the session. */
export interface Payment {
  session_id: string
  status: PurchaseStatus
  amount: number
  currency: string
  expires_at: Date | null
}

/** How a purchase stands, as far as it was heard of. */
export type PurchaseStatus = 'pending' | 'paid' | 'failed' | 'expired' | 'refunded' | 'disputed'

/** How a payment stands at the provider, right now. */
export interface PaymentState {
  /** `open` may still be paid. What was paid stays `paid`, whatever went back of it. */
  status: 'open' | 'paid' | 'failed' | 'expired'
  /** What was asked of the payer, in minor units. */
  amount: number
  /** ISO 4217, in capitals. */
  currency: string
  /** How much of it went back: refunds, and disputes that are open or lost. */
  reversed: number
  /** Whether a dispute is open or lost. */
  disputed: boolean
  /** The payment of the session, which refunds and disputes name; null or left out where there is none as yet. */
  payment_id?: string | null
}

/** What a provider sent us: nothing is believed of it until its signature was checked. */
export interface Notification {
  /** The bytes as they came. */
  body: Uint8Array
  /** The header `Stripe-Signature`. */
  signature: string | undefined
}

/** What a notification is about: a session, or a payment, or (both null) nothing of ours. */
export interface Subject {
  session_id: string | null
  payment_id?: string | null
}

/** Who takes payments; knows nothing of credits. */
export interface PaymentProvider {
  readonly name: string
  /**
   * Opens a session for an order; for the same order again, the same one. Null when it will not.
   * @throws Error when it could not be asked; trying again is safe.
   */
  open(order: Order): Promise<Session | null>
  /** What a notification is about, or null when the provider did not sign it. Asks nobody. */
  read(notification: Notification): Promise<Subject | null>
  /**
   * Which order a payment is for, null where it is for none of ours; only of a provider whose notifications name
   * payments.
   * @throws Error when it could not be asked.
   */
  orderOf?(paymentId: string): Promise<Pick<Order, 'workspace_id' | 'purchase_id'> | null>
  /**
   * How a payment stands now; null when the provider knows nothing of it.
   * @throws Error when it could not be asked.
   */
  look(payment: Payment): Promise<PaymentState | null>
  /**
   * Gives all of a payment back; once, however often it is asked.
   * @throws SvcError `validation_error` when the provider refuses to; Error when it could not be asked.
   */
  refund(payment: Payment): Promise<void>
}
