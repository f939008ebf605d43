import {
  afterText,
  CHANNELS,
  credits,
  endpoint,
  limit,
  mayDo,
  nextAfter,
  spendingFilter,
  statementMonth,
  TRANSACTION_TYPES,
  timestamp,
  transaction,
  uuid,
} from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import * as z from 'zod'
import type { Identity } from '../admission/authenticator.ts'
import type { Handlers } from '../routes/mount.ts'

/** A workspace buys rarely: older purchases are in the ledger. */
const PURCHASES_SHOWN = 50

const shared = { method: 'GET', auth: 'jwt', rate: 'general', status: 200 } as const

const sides = { spent: credits, refunded: credits, other: credits }
const kind = z.enum(TRANSACTION_TYPES)
const channel = z.enum(CHANNELS).nullable()

/** What the page of the credits shows beside the API. */
export const creditEndpoints = {
  funding: endpoint({
    ...shared,
    path: '/api/funding',
    needs: 'belong',
    query: z.object({ limit, after: afterText.optional() }),
    data: z.object({ transactions: z.array(transaction), next_after: nextAfter }),
    summary: 'List the changes of the balance that no message caused, newest first',
  }),
  purchases: endpoint({
    ...shared,
    path: '/api/purchases',
    needs: 'bill',
    data: z.object({
      purchases: z.array(
        z.object({
          id: uuid,
          package_id: z.string(),
          status: z.string(),
          in_review: z.boolean(),
          credits,
          /** In minor units of the currency. */
          amount: z.int(),
          currency: z.string(),
          /** The page to pay on, while the purchase is pending. */
          checkout_url: z.string().nullable(),
          created_at: timestamp,
        }),
      ),
    }),
    summary: `List the newest ${PURCHASES_SHOWN} purchases`,
  }),
  spending: endpoint({
    ...shared,
    path: '/api/spending',
    needs: 'belong',
    data: z.object({
      is_frozen: z.boolean(),
      spent_today: credits,
      daily_limit: credits.nullable(),
    }),
    summary: 'Get the spending limits of the workspace',
  }),
  why: endpoint({
    ...shared,
    path: '/api/spending/days',
    needs: 'belong',
    query: spendingFilter,
    data: z.object({
      counted_until: timestamp.nullable(),
      days: z.array(z.object({ day: z.string(), ...sides })),
      kinds: z.array(z.object({ kind, count: z.int(), credits })),
      channels: z.array(z.object({ channel, ...sides })),
      keys: z.array(z.object({ id: z.string().nullable(), name: z.string().nullable(), ...sides })),
      causes: z.array(
        z.object({
          cause_type: z.enum(['bulk', 'broadcast']),
          cause_id: z.string(),
          name: z.string().nullable(),
          channel,
          spent: credits,
          refunded: credits,
          refunds: z.int(),
        }),
      ),
      causes_examined: z.int(),
      forecast: z.object({
        state: z.enum(['until', 'over_a_year', 'empty', 'too_little_history', 'no_spending']),
        per_day: credits.optional(),
        days: z.int(),
        until: timestamp.optional(),
      }),
    }),
    summary: 'Show why the credits of the last days changed, and how long they last',
  }),
  statement: endpoint({
    ...shared,
    path: '/api/statements/:month',
    needs: 'belong',
    params: z.object({ month: statementMonth }),
    not_found: 'There is no such month',
    data: z.object({
      month: z.string(),
      opening: credits,
      closing: credits,
      counted_until: timestamp.nullable(),
      lines: z.array(z.object({ day: z.string(), kind, count: z.int(), credits })),
    }),
    summary: 'Show the changes of the credits in a month, by day and kind',
  }),
} as const

function mayRead(identity: Identity | null): boolean {
  return identity?.kind === 'session' && mayDo(identity.role, 'read')
}

/** The handlers of the page of the credits. */
export function creditHandlers(
  core: DecodedCore,
  now: () => number,
): Handlers<typeof creditEndpoints> {
  return {
    async funding({ workspace_id, query }) {
      const page = { ...query, offset: 0, is_funding: true }
      const { transactions, next_after } = await core.billing.transactions(workspace_id, page)
      return { transactions, next_after }
    },
    async purchases({ workspace_id }) {
      const page = { limit: PURCHASES_SHOWN, offset: 0 }
      const found = await core.billing.purchases({ workspace_id }, page)
      const purchases = found.map(({ review_reason, checkout_url, ...purchase }) => {
        const { status, payment_id, expires_at } = purchase
        // The payment provider may report the end of its page late, or not at all.
        const isOver = payment_id === null && expires_at !== null && expires_at.getTime() <= now()
        const shown = status === 'pending' && isOver ? 'expired' : status
        return {
          ...purchase,
          status: shown,
          in_review: review_reason !== null,
          checkout_url: shown === 'pending' ? checkout_url : null,
        }
      })
      return { purchases }
    },
    async spending({ workspace_id }) {
      const { status, spent_today, daily_limit } = await core.credits.account(workspace_id)
      return { is_frozen: status === 'frozen', spent_today, daily_limit }
    },
    async why({ workspace_id, query, identity }) {
      const found = await core.billing.spending(workspace_id, query)
      // Who may not read messages sees no campaigns either, as in the list of transactions.
      if (mayRead(identity)) return found
      return { ...found, causes: found.causes.map((cause) => ({ ...cause, name: null })) }
    },
    statement: ({ workspace_id, params }) => core.billing.statement(workspace_id, params.month),
  }
}
