/** The objects of Stripe's API that a purchase needs. Times are Unix seconds, amounts minor units. */
export interface Session {
  id: string
  object: 'checkout.session'
  livemode: boolean
  status: 'open' | 'complete' | 'expired'
  payment_status: 'unpaid' | 'paid'
  amount_total: number
  currency: string
  client_reference_id: string | null
  metadata: Record<string, string>
  payment_intent: string | null
  success_url: string
  cancel_url: string | null
  expires_at: number
  url: string | null
}

export interface Intent {
  id: string
  object: 'payment_intent'
  amount: number
  currency: string
  status: 'requires_payment_method' | 'processing' | 'succeeded'
  metadata: Record<string, string>
  latest_charge: string | null
}

export interface Charge {
  id: string
  object: 'charge'
  amount: number
  amount_refunded: number
  currency: string
  refunded: boolean
  disputed: boolean
  payment_intent: string
  metadata: Record<string, string>
}

export interface Refund {
  id: string
  object: 'refund'
  amount: number
  currency: string
  status: 'pending' | 'succeeded' | 'failed' | 'canceled'
  charge: string
  payment_intent: string
}

export interface Dispute {
  id: string
  object: 'dispute'
  amount: number
  currency: string
  status: string
  charge: string
  payment_intent: string
  balance_transactions: Movement[]
}

/** A balance transaction: money to or from the account. */
export interface Movement {
  id: string
  object: 'balance_transaction'
  amount: number
  type: 'payment' | 'payment_refund' | 'payment_failure_refund' | 'adjustment'
  source: string
}

export interface Event {
  id: string
  object: 'event'
  api_version: string
  type: string
  created: number
  livemode: boolean
  data: { object: { id: string; object: string } }
}
