import * as z from 'zod'
import { endpoint } from '../endpoints/endpoint.ts'
import { limit, page, pagination } from '../endpoints/paging.ts'
import { credits, pageUrl, text, timestamp, uuid } from '../fields/fields.ts'
import { LIMITS } from '../limits.ts'
import { CHANNELS } from './content.ts'

/** What an entry of the ledger can be. Source: contract section 4. */
export const TRANSACTION_TYPES = [
  'purchase',
  'purchase_adjust',
  'grant',
  'send',
  'refund',
  'hold',
  'settle',
  'void',
  'expire',
  'adjustment',
] as const

/** What an entry of the ledger is. */
export type TransactionType = (typeof TRANSACTION_TYPES)[number]

/** What can be bought. Source: contract section 8. */
export const creditPackage = z
  .object({
    id: z.string(),
    name: z.string(),
    description: z.string(),
    credits,
    /** Given on top of `credits`. */
    bonus_credits: credits,
    price: z.object({
      amount: z.int().min(1).max(LIMITS.price_amount).meta({
        description: 'In minor units of the currency: 1000 is 10.00 USD, and 1000 JPY.',
      }),
      currency: z.string().meta({ description: 'ISO 4217.', example: 'USD' }),
    }),
  })
  .meta({ id: 'CreditPackage' })

/** What can be bought. */
export type CreditPackage = z.output<typeof creditPackage>

/** One change of the balance. Source: contract section 8. */
export const transaction = z
  .object({
    id: uuid,
    type: z.enum(TRANSACTION_TYPES),
    /** What the change did to the credits available: a hold takes, whatever is released comes back. */
    credits,
    /** The credits available after it. */
    balance_after: credits,
    description: z.string().nullable(),
    channel: z.enum(CHANNELS).nullable(),
    /** What it was about: a message, a bulk, a purchase, a grant. */
    reference: z.object({ type: z.string(), id: z.string() }),
    created_at: timestamp,
  })
  .meta({ id: 'Transaction' })

/** One change of the balance. */
export type Transaction = z.output<typeof transaction>

/** Buying credits. Source: interface, Billing; contract sections 8 and 12. */
export const billing = {
  packages: endpoint({
    method: 'GET',
    path: '/api/v1/billing/packages',
    auth: 'none',
    rate: 'anonymous',
    status: 200,
    data: z.object({ packages: z.array(creditPackage) }),
    summary: 'List the credit packages',
  }),
  checkout: endpoint({
    method: 'POST',
    path: '/api/v1/billing/checkout',
    auth: 'jwt',
    rate: 'general',
    status: 201,
    idempotent: true,
    failures: ['insufficient_credits'],
    body: z.object({
      package_id: text(LIMITS.package_id_length).meta({ example: 'starter' }),
      success_url: pageUrl.optional().meta({
        description:
          'Where the payer goes once paid. `{CHECKOUT_SESSION_ID}` stands for the session.',
      }),
      cancel_url: pageUrl.optional().meta({
        description: 'Where the payer goes who does not pay.',
      }),
    }),
    data: z.object({
      purchase_id: uuid,
      session_id: z.string().meta({ description: 'The session at the payment provider.' }),
      checkout_url: z.string().meta({ format: 'uri', description: 'Where to pay.' }),
      expires_at: timestamp,
    }),
    summary: 'Begin to buy a credit package',
    description:
      'Answers where to pay. The credits are there once the payment provider has told that it was paid.',
  }),
  transactions: endpoint({
    method: 'GET',
    path: '/api/v1/billing/transactions',
    auth: 'jwt',
    rate: 'general',
    status: 200,
    query: z.object({ page, limit }),
    data: z.object({ transactions: z.array(transaction), pagination }),
    summary: 'List the changes of the balance, newest first',
  }),
  notify: endpoint({
    method: 'POST',
    path: '/api/v1/billing/webhook',
    auth: 'none',
    // A refusal could cost somebody credits that were paid for.
    rate: 'exempt',
    status: 200,
    signed_by: 'Stripe-Signature',
    failures: ['validation_error'],
    data: z.object({ received: z.literal(true) }),
    summary: 'Receive a notification of the payment provider',
    description:
      'For the payment provider alone, which signs the body. One that comes again changes nothing.',
  }),
} as const
