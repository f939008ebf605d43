import type { PurchaseStatus } from '../storage/ports/stores.ts'
/** A purchase, as sent to the payment provider. */
export interface Order {
  workspace_id: string
  purchase_id: string
  /** The text that the payer sees. */
  description: string
  /** The price in minor units of the currency. */
  amount: number
  /** The ISO 4217 code in capitals. */
  currency: string
  /** The page that the payer's browser opens after the payment; null: the provider's default page. */
  success_url: string | null
  cancel_url: string | null
  expires_at: Date
}

/** The payment page of an order. */
export interface Session {
  session_id: string
  checkout_url: string
}

/** A payment as our database has it. A provider that keeps its own records needs only the id of the session. */
export interface Payment {
  session_id: string
  status: PurchaseStatus
  amount: number
  currency: string
  expires_at: Date | null
}

/** The current state of a payment at the provider. */
export interface PaymentState {
  /** An `open` payment can still be paid. A paid payment stays `paid`, even after a refund or a dispute. */
  status: 'open' | 'paid' | 'failed' | 'expired'
  /** The price for the payer, in minor units. */
  amount: number
  /** The ISO 4217 code in capitals. */
  currency: string
  /** The part of `amount` that was refunded or that is in open or lost disputes, in minor units. */
  reversed: number
  /** Whether a dispute is open or lost. */
  disputed: boolean
  /** The id that refunds and disputes refer to; null or absent until the session has a payment. */
  payment_id?: string | null
}

/** A request from a provider. It is not trusted before its signature is verified. */
export interface Notification {
  /** The raw bytes of the body. */
  body: Uint8Array
  /** The value of the header `Stripe-Signature`. */
  signature: string | undefined
}

/** The session or the payment of a notification; both are null if the notification does not concern our purchases. */
export interface Subject {
  session_id: string | null
  payment_id?: string | null
}

/** A payment provider. It does not know about credits. */
export interface PaymentProvider {
  readonly name: string
  /**
   * Opens a session for an order; a repeated call returns the same session. Returns null when the provider refuses.
   * @throws Error when the provider cannot be reached; a retry is safe.
   */
  open(order: Order): Promise<Session | null>
  /** Reads the subject of a notification; null if the signature is not valid. Makes no request. */
  read(notification: Notification): Promise<Subject | null>
  /**
   * Returns the order of a payment; null for a foreign payment. Needed only if the provider's notifications name payments.
   * @throws Error when the provider cannot be reached.
   */
  orderOf?(paymentId: string): Promise<Pick<Order, 'workspace_id' | 'purchase_id'> | null>
  /**
   * Returns the current state of a payment; null when the provider does not know the payment.
   * @throws Error when the provider cannot be reached.
   */
  look(payment: Payment): Promise<PaymentState | null>
  /**
   * Refunds a whole payment; repeated calls refund it once.
   * @throws SvcError `validation_error` when the provider refuses; Error when the provider cannot be reached.
   */
  refund(payment: Payment): Promise<void>
}
