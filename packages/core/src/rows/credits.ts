import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { ENTRY_TYPES } from '../contract/resources/billing.ts'
import type { Dialect } from './dialect.ts'

export const ENTRY_KINDS = ENTRY_TYPES
/** What an entry of the ledger records. Source: contract section 4. */
export type EntryKind = (typeof ENTRY_KINDS)[number]

/** The entries of one kind, type of reference and counter account, as sums. */
export interface EntrySum {
  kind: EntryKind
  ref_type: string
  counter_account: string
  entries: number
  amount: number
  held_delta: number
}

/** SQL: whether an entry of this kind adds or removes credits without a message. The index has the same text. */
export function isFunding(kind: SQLWrapper): SQL {
  return sql`${kind} not in ('send', 'refund', 'hold', 'settle', 'void')`
}

export function creditTables(d: Dialect) {
  const credit_accounts = d.table(
    'credit_accounts',
    {
      workspace_id: d.text().primaryKey(),
      balance: d.units().notNull(),
      held: d.units().notNull(),
      credit_limit: d.units().notNull(),
      seq: d.long().notNull(),
      status: d.text().$type<'active' | 'frozen'>().notNull(),
      /** The reason of the freeze; null while the account is active. */
      frozen_reason: d.text(),
      /** The maximum that may be spent on a day (UTC); null for no limit. */
      daily_limit: d.units(),
      /** The day to which `spent` belongs, in days since 1970. */
      spent_on: d.int().notNull().default(0),
      spent: d.units().notNull().default(sql`0`),
      /** The owner is notified when `available` falls below this value; null for no notification. */
      low_balance: d.units(),
      /** Whether `low_balance` follows the service's default. */
      low_balance_default: d.boolean().notNull().default(true),
      low_state: d.text().$type<'no' | 'due' | 'told'>().notNull().default('no'),
      updated_at: d.time().notNull(),
    },
    (t) => [
      // The job that notifies the owners uses this index.
      d.index('credit_accounts_low').on(t.workspace_id).where(sql`low_state = 'due'`),
      d.check('credit_accounts_held', sql`${t.held} >= 0`),
      d.check('credit_accounts_limit', sql`${t.credit_limit} >= 0`),
      d.check('credit_accounts_cap', sql`abs(${t.balance}) <= 999999999999999`),
    ],
  )
  const ledger_entries = d.table(
    'ledger_entries',
    {
      id: d.text().notNull(),
      workspace_id: d.text().notNull(),
      seq: d.long().notNull(),
      kind: d.text().$type<EntryKind>().notNull(),
      amount: d.units().notNull(),
      held_delta: d.units().notNull(),
      balance_after: d.units().notNull(),
      held_after: d.units().notNull(),
      counter_account: d.text().notNull(),
      ref_type: d.text().notNull(),
      ref_id: d.text().notNull(),
      ref_n: d.int().notNull(),
      channel: d.text(),
      quantity: d.int(),
      unit_price: d.units(),
      /** The id of the entry whose hold this entry ends; each hold ends once. */
      resolves: d.text(),
      actor: d.text(),
      description: d.text(),
      created_at: d.time().notNull(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.seq] }),
      d
        .uniqueIndex('ledger_entries_resolves')
        .on(t.workspace_id, t.resolves)
        .where(sql`resolves is not null`),
      d
        .uniqueIndex('ledger_entries_reference')
        .on(t.workspace_id, t.ref_id, t.kind, t.ref_type, t.ref_n),
      // The few entries that no message caused, among millions of sends: no send writes this index.
      d.index('ledger_entries_funding').on(t.workspace_id, t.seq).where(isFunding(sql`kind`)),
      d.check('ledger_entries_moves', sql`${t.amount} <> 0 or ${t.held_delta} <> 0`),
      d.check(
        'ledger_entries_sign',
        sql`case ${t.kind} when 'send' then ${t.amount} < 0 when 'refund' then ${t.amount} > 0 when 'grant' then ${t.amount} > 0 when 'purchase' then ${t.amount} > 0 else true end`,
      ),
    ],
  )
  /**
   * The opening of a ledger: stands for the entries up to a number that were removed. Entries that no message caused, and
   * entries whose message or bulk exists, are kept as rows.
   */
  const ledger_openings = d.table('ledger_openings', {
    workspace_id: d.text().primaryKey(),
    id: d.text().notNull(),
    /** The number of the last entry that was folded. */
    seq: d.long().notNull(),
    /** The account after that entry. */
    balance: d.units().notNull(),
    held: d.units().notNull(),
    /** The number of removed entries, and their sums in micro-credits. */
    entries: d.long().notNull(),
    amount: d.long().notNull(),
    held_delta: d.long().notNull(),
    /** The part of the sums that `removed_history` has too: charged for messages, given back, charged for bulks. */
    charged: d.long().notNull(),
    refunded: d.long().notNull(),
    charged_bulks: d.long().notNull(),
    sums: d.json<EntrySum[]>().notNull(),
    /** The hash of the chain of all entries up to `seq`. */
    hash: d.text().notNull(),
    /** The number of entries up to `seq` that are kept, and the hash of their chain. */
    kept: d.long().notNull(),
    kept_hash: d.text().notNull(),
    /** The time of the entry `seq`. */
    last_at: d.time().notNull(),
    folded_at: d.time().notNull(),
    /** HMAC-SHA-256 of all other columns, under the secret `ledger` of the service. */
    signature: d.text().notNull(),
  })
  /** The open holds: a row is removed when its hold ends. */
  const credit_holds = d.table(
    'credit_holds',
    {
      workspace_id: d.text().notNull(),
      id: d.text().notNull(),
      message_id: d.text().notNull(),
      /** The number of the hold within its message, from 0. */
      n: d.int().notNull(),
      amount: d.units().notNull(),
      expires_at: d.time().notNull(),
      created_at: d.time().notNull(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.id] }),
      d.uniqueIndex('credit_holds_message').on(t.workspace_id, t.message_id, t.n),
      d.index('credit_holds_expires').on(t.expires_at),
    ],
  )
  /** Grants that expire. Their remaining credits are counted when a lot begins or ends. */
  const credit_lots = d.table(
    'credit_lots',
    {
      workspace_id: d.text().notNull(),
      /** The id of the ledger entry of the grant. */
      id: d.text().notNull(),
      amount: d.units().notNull(),
      remaining: d.units().notNull(),
      granted_seq: d.long().notNull(),
      /** The last entry that `remaining` includes. */
      counted_seq: d.long().notNull(),
      expires_at: d.time().notNull(),
      ended_at: d.time(),
      created_at: d.time().notNull(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.id] }),
      d.index('credit_lots_expires').on(t.expires_at).where(sql`ended_at is null`),
      d.check('credit_lots_remaining', sql`${t.remaining} >= 0 and ${t.remaining} <= ${t.amount}`),
    ],
  )
  /**
   * Sums of the ledger by day and origin, which the sweeper writes: a page that sums a million entries itself would take
   * seconds. An empty text in a key stands for none.
   */
  const credit_days = d.table(
    'credit_days',
    {
      workspace_id: d.text().notNull(),
      /** The day (UTC) on which the entries were made, in days since 1970. */
      day: d.int().notNull(),
      kind: d.text().$type<EntryKind>().notNull(),
      channel: d.text().notNull(),
      /** The API key, or the login, that sent the message. */
      api_key_id: d.text().notNull(),
      count: d.long().notNull(),
      amount: d.units().notNull(),
      held_delta: d.units().notNull(),
    },
    (t) => [d.primaryKey({ columns: [t.workspace_id, t.day, t.kind, t.channel, t.api_key_id] })],
  )
  /** The part of `credit_days` that bulks and broadcasts caused. */
  const credit_causes = d.table(
    'credit_causes',
    {
      workspace_id: d.text().notNull(),
      day: d.int().notNull(),
      /** The broadcast, or the bulk that belongs to none. */
      cause_id: d.text().notNull(),
      cause_type: d.text().$type<'bulk' | 'broadcast'>().notNull(),
      channel: d.text().notNull(),
      api_key_id: d.text().notNull(),
      /** The credits that left the account for messages, and those that refunds returned. */
      spent: d.units().notNull(),
      refunded: d.units().notNull(),
      refunds: d.long().notNull(),
    },
    (t) => [d.primaryKey({ columns: [t.workspace_id, t.day, t.cause_id] })],
  )
  /** The number of the last entry that `credit_days` and `credit_causes` include. */
  const credit_marks = d.table('credit_marks', {
    workspace_id: d.text().primaryKey(),
    seq: d.long().notNull(),
  })
  const idempotency_keys = d.table(
    'idempotency_keys',
    {
      workspace_id: d.text().notNull(),
      route: d.text().notNull(),
      key: d.text().notNull(),
      request_hash: d.text().notNull(),
      /** The `data` of the response, as JSON text. A repeated request gets the same bytes. */
      response: d.text().notNull(),
      created_at: d.time().notNull(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.route, t.key] }),
      // The removal of old records uses this index.
      d.index('idempotency_keys_created').on(t.created_at),
    ],
  )
  const purchases = d.table(
    'purchases',
    {
      id: d.text().notNull(),
      workspace_id: d.text().notNull(),
      package_id: d.text().notNull(),
      status: d
        .text()
        .$type<'pending' | 'paid' | 'failed' | 'expired' | 'refunded' | 'disputed'>()
        .notNull(),
      /** The purchased credits, with the bonus. */
      credits: d.units().notNull(),
      /** The price in minor units of its currency. */
      amount: d.int().notNull(),
      currency: d.text().notNull(),
      provider: d.text().notNull(),
      /** The checkout session of the payment provider; null until this provider has answered. */
      session_id: d.text(),
      /** The payment of the session; refunds and disputes name it. Null until the payment is known. */
      payment_id: d.text(),
      checkout_url: d.text(),
      success_url: d.text(),
      cancel_url: d.text(),
      /** The number of changes. A change is refused if the purchase changed after it was read. */
      version: d.int().notNull(),
      /** The reason for an operator's review. No credits are granted during the review. */
      review_reason: d.text(),
      expires_at: d.time(),
      created_at: d.time().notNull(),
      updated_at: d.time().notNull(),
      paid_at: d.time(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.id] }),
      d.uniqueIndex('purchases_session').on(t.session_id),
      d.uniqueIndex('purchases_payment').on(t.payment_id),
      // The check of all purchases of a period uses this index.
      d.index('purchases_created').on(t.created_at),
      // An operator looks up a purchase without its workspace.
      d.index('purchases_id').on(t.id),
    ],
  )
  return {
    credit_accounts,
    ledger_entries,
    ledger_openings,
    credit_holds,
    credit_lots,
    credit_days,
    credit_causes,
    credit_marks,
    idempotency_keys,
    purchases,
  }
}
