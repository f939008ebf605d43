import * as z from 'zod'
import { endpoint } from '../endpoints/endpoint.ts'
import {
  afterText,
  exportNext,
  exportQuery,
  listQuery,
  nextAfter,
  pagination,
} from '../endpoints/paging.ts'
import { credits, pageUrl, text, timestamp, uuid } from '../fields/fields.ts'
import { LIMITS } from '../limits.ts'
import { CHANNELS } from './content.ts'

/** The types of ledger entries. Source: contract section 4. */
export const ENTRY_TYPES = [
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

/** The types of transactions. `opening` is the sum of older entries that were removed. */
export const TRANSACTION_TYPES = [...ENTRY_TYPES, 'opening'] as const

/** The type of a transaction. */
export type TransactionType = (typeof TRANSACTION_TYPES)[number]

/** A package of credits for sale. Source: contract section 8. */
export const creditPackage = z
  .object({
    id: z.string(),
    name: z.string(),
    description: z.string(),
    credits,
    /** The credits that are granted in addition to `credits`. */
    bonus_credits: credits,
    price: z.object({
      amount: z.int().min(1).max(LIMITS.price_amount).meta({
        description: 'In minor units of the currency: 1000 is 10.00 USD, and 1000 JPY.',
      }),
      currency: z.string().meta({ description: 'ISO 4217.', example: 'USD' }),
    }),
  })
  .meta({ id: 'CreditPackage' })

/** A package of credits for sale. */
export type CreditPackage = z.output<typeof creditPackage>

/** One change of the balance. Source: contract section 8. */
export const transaction = z
  .object({
    id: uuid,
    type: z.enum(TRANSACTION_TYPES),
    /** The change of the available credits: negative for a hold, positive for a release. */
    credits,
    /** The available credits after the change. */
    balance_after: credits,
    description: z.string().nullable(),
    channel: z.enum(CHANNELS).nullable(),
    /** The cause: a message, a bulk, a purchase or a grant. */
    reference: z.object({ type: z.string(), id: z.string() }),
    created_at: timestamp,
  })
  .meta({ id: 'Transaction' })

/** One change of the balance. */
export type Transaction = z.output<typeof transaction>

/** A month (UTC) of a statement. */
export const statementMonth = z
  .string()
  .regex(/^20\d\d-(0[1-9]|1[0-2])$/, { error: 'must be a month such as 2026-05' })

/** Which part of the spent credits is asked for. */
export const spendingFilter = z.object({
  days: z.enum(['7', '30', '90']).default('30').transform(Number),
  day: z.iso.date().optional(),
  channel: z.enum(CHANNELS).optional(),
  key: text(100).optional(),
})

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
    needs: 'bill',
    rate: 'general',
    status: 201,
    idempotent: true,
    asks_hosts: true,
    failures: ['insufficient_credits'],
    body: z.object({
      package_id: text(LIMITS.package_id_length).meta({ example: 'starter' }),
      success_url: pageUrl.optional().meta({
        description:
          'The page after the payment. `{CHECKOUT_SESSION_ID}` is replaced by the session id.',
      }),
      cancel_url: pageUrl.optional().meta({ description: 'The page if the payer cancels.' }),
    }),
    data: z.object({
      purchase_id: uuid,
      session_id: z.string().meta({ description: 'The session at the payment provider.' }),
      checkout_url: z.string().meta({ format: 'uri', description: 'The page to pay on.' }),
      expires_at: timestamp,
    }),
    summary: 'Start the purchase of a credit package',
    description:
      'Returns the page to pay on. The credits are added when the payment provider confirms the payment.',
  }),
  transactions: endpoint({
    method: 'GET',
    path: '/api/v1/billing/transactions',
    auth: 'jwt',
    needs: 'belong',
    rate: 'general',
    status: 200,
    query: listQuery({}, afterText),
    data: z.object({ transactions: z.array(transaction), pagination, next_after: nextAfter }),
    summary: 'List the changes of the balance, newest first',
  }),
  export: endpoint({
    method: 'GET',
    path: '/api/v1/billing/transactions/export',
    auth: 'jwt',
    needs: 'belong',
    rate: 'general',
    status: 200,
    gives_csv: true,
    query: z.object({
      ...exportQuery,
      after: afterText.optional().meta({
        description: 'The `next_after` of an earlier export, `number` of the last row in CSV.',
      }),
      only: z.enum(['funding']).optional().meta({
        description:
          '`funding`: only changes that no message caused, such as purchases and grants.',
      }),
    }),
    data: z.object({ transactions: z.array(transaction), next_after: exportNext }),
    summary: 'Export the changes of the balance, newest first',
    description:
      'The answer is streamed while it is read. In CSV, no cell runs as a formula in a spreadsheet. A workspace may have 2 exports in flight.',
  }),
  notify: endpoint({
    method: 'POST',
    path: '/api/v1/billing/webhook',
    auth: 'none',
    // If a notification were refused, credits that were paid for could get lost.
    rate: 'exempt',
    status: 200,
    signed_by: 'Stripe-Signature',
    failures: ['validation_error'],
    data: z.object({ received: z.literal(true) }),
    summary: 'Receive a notification from the payment provider',
    description: 'Only for the payment provider, which signs the body. A repeat changes nothing.',
  }),
} as const
