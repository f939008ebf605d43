import { sql } from 'drizzle-orm'
import type { Receipt, ReceivedContent } from '../contract/outside/provider.ts'
import type { ActorKind, AuditAction } from '../contract/resources/audit.ts'
import type { Subscriptions } from '../contract/resources/contacts.ts'
import type { Channel, Content, MessageStatus, Metadata } from '../contract/resources/messages.ts'
import type { EntryKind } from '../rules/decide.ts'
import type { Dialect } from './dialect.ts'
import type { Sealed, SealedHeaders } from './sealed.ts'

/**
 * Every table, once, for both engines. Each key begins with `workspace_id`: no query runs without one, and the
 * workspace can become the distribution key of a sharded PostgreSQL. The two queues are apart from the rows they
 * drive, so that claiming stays cheap however long the history grows.
 */
export function tables(d: Dialect) {
  return {
    ...accountTables(d),
    ...contactTables(d),
    ...creditTables(d),
    ...messageTables(d),
    ...providerTables(d),
    ...webhookTables(d),
    ...operatingTables(d),
  }
}

export type Tables = ReturnType<typeof tables>

function accountTables(d: Dialect) {
  const workspaces = d.table(
    'workspaces',
    {
      id: d.text().primaryKey(),
      name: d.text().notNull(),
      email: d.text().notNull(),
      /** The address in lower case: what uniqueness and login compare. */
      email_key: d.text().notNull(),
      email_verified: d.boolean().notNull(),
      password_hash: d.text().notNull(),
      /** Raised by a password change; tokens issued before carry a lower one and are refused. */
      token_version: d.int().notNull(),
      phone: d.text(),
      country: d.text(),
      sender_name: d.text(),
      created_at: d.time().notNull(),
      updated_at: d.time().notNull(),
    },
    (t) => [d.uniqueIndex('workspaces_email_key').on(t.email_key)],
  )
  const api_keys = d.table(
    'api_keys',
    {
      id: d.text().notNull(),
      workspace_id: d.text().notNull(),
      name: d.text().notNull(),
      /** SHA-256 of the whole key, hex. The key itself is never stored. */
      key_hash: d.text().notNull(),
      key_prefix: d.text().notNull(),
      mode: d.text().$type<'live' | 'test'>().notNull(),
      scopes: d.json<string[]>().notNull(),
      is_active: d.boolean().notNull(),
      expires_at: d.time(),
      allowed_ips: d.json<string[]>(),
      daily_credit_limit: d.units(),
      last_used_at: d.time(),
      created_at: d.time().notNull(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.id] }),
      d.uniqueIndex('api_keys_key_hash').on(t.key_hash),
      // Of keys, that were made and deactivated without end, the active ones are counted at once.
      d.index('api_keys_active').on(t.workspace_id).where(sql`is_active`),
    ],
  )
  /** What the service generated for itself, so that every server of the database has the same. */
  const secrets = d.table('secrets', {
    name: d.text().primaryKey(),
    value: d.text().$type<Sealed>().notNull(),
    created_at: d.time().notNull(),
  })
  /** What a mail lets its reader do once: only the hash is kept. */
  const account_tokens = d.table(
    'account_tokens',
    {
      token_hash: d.text().primaryKey(),
      workspace_id: d.text().notNull(),
      purpose: d.text().$type<'verify_email' | 'reset_password'>().notNull(),
      expires_at: d.time().notNull(),
      created_at: d.time().notNull(),
    },
    (t) => [
      d.index('account_tokens_workspace').on(t.workspace_id, t.purpose),
      d.index('account_tokens_expires').on(t.expires_at),
    ],
  )
  /** Sessions that a logout ended: kept until the token would have expired by itself. */
  const ended_sessions = d.table(
    'ended_sessions',
    {
      workspace_id: d.text().notNull(),
      /** SHA-256 of the token without its signature, hex: one signature can be written in several ways. */
      session_hash: d.text().notNull(),
      /** When the token expires. */
      ends_at: d.time().notNull(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.session_hash] }),
      d.index('ended_sessions_ends').on(t.ends_at),
    ],
  )
  /** Where an account logged in from, no finer than a network and forgotten after a while: each has its own login bucket. */
  const login_networks = d.table(
    'login_networks',
    {
      workspace_id: d.text().notNull(),
      /** An IPv4 /24 or an IPv6 /48. */
      network: d.text().notNull(),
      last_login_at: d.time().notNull(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.network] }),
      d.index('login_networks_last_login').on(t.last_login_at),
    ],
  )
  /** When the owner of a workspace was last mailed about it: bounds how often that happens. */
  const owner_mails = d.table(
    'owner_mails',
    {
      workspace_id: d.text().notNull(),
      kind: d.text().$type<'low_balance' | 'account_frozen'>().notNull(),
      mailed_at: d.time().notNull(),
    },
    (t) => [d.primaryKey({ columns: [t.workspace_id, t.kind] })],
  )
  /** What a key with a daily limit has spent on a day (UTC). */
  const api_key_spending = d.table(
    'api_key_spending',
    {
      workspace_id: d.text().notNull(),
      api_key_id: d.text().notNull(),
      /** `2026-05-04`. */
      day: d.text().notNull(),
      spent: d.units().notNull(),
    },
    (t) => [d.primaryKey({ columns: [t.workspace_id, t.api_key_id, t.day] })],
  )
  /** What a workspace's test keys, which spend nothing, used on the last day (UTC) on which they sent something. */
  const test_usage = d.table('test_usage', {
    workspace_id: d.text().primaryKey(),
    /** In days since 1970. */
    day: d.int().notNull(),
    messages: d.long().notNull(),
    bytes: d.long().notNull(),
  })
  return {
    workspaces,
    api_keys,
    secrets,
    account_tokens,
    ended_sessions,
    login_networks,
    owner_mails,
    api_key_spending,
    test_usage,
  }
}

function contactTables(d: Dialect) {
  const contacts = d.table(
    'contacts',
    {
      id: d.text().notNull(),
      workspace_id: d.text().notNull(),
      name: d.text(),
      phone: d.text(),
      email: d.text(),
      /** The address in lower case: what uniqueness compares. */
      email_key: d.text(),
      external_id: d.text(),
      tags: d.json<string[]>().notNull(),
      attributes: d.json<Metadata>().notNull(),
      subscriptions: d.json<Subscriptions>().notNull(),
      /** What a search looks through, in lower case. */
      search_text: d.text().notNull(),
      created_at: d.time().notNull(),
      updated_at: d.time().notNull(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.id] }),
      d.uniqueIndex('contacts_phone').on(t.workspace_id, t.phone),
      d.uniqueIndex('contacts_email_key').on(t.workspace_id, t.email_key),
      d.uniqueIndex('contacts_external_id').on(t.workspace_id, t.external_id),
    ],
  )
  /** The tags of contacts once more, to find contacts by. */
  const contact_tags = d.table(
    'contact_tags',
    {
      workspace_id: d.text().notNull(),
      tag: d.text().notNull(),
      contact_id: d.text().notNull(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.tag, t.contact_id] }),
      d.index('contact_tags_contact').on(t.workspace_id, t.contact_id),
    ],
  )
  /** Who must not be written to on a channel, whoever asks. */
  const suppressions = d.table(
    'suppressions',
    {
      workspace_id: d.text().notNull(),
      channel: d.text().$type<Channel>().notNull(),
      /** E.164, or an e-mail address in lower case. */
      address: d.text().notNull(),
      reason: d.text().$type<'opt_out' | 'bounce' | 'complaint' | 'manual'>().notNull(),
      created_at: d.time().notNull(),
    },
    (t) => [d.primaryKey({ columns: [t.workspace_id, t.channel, t.address] })],
  )
  return { contacts, contact_tags, suppressions }
}

function creditTables(d: Dialect) {
  const credit_accounts = d.table(
    'credit_accounts',
    {
      workspace_id: d.text().primaryKey(),
      balance: d.units().notNull(),
      held: d.units().notNull(),
      credit_limit: d.units().notNull(),
      seq: d.long().notNull(),
      status: d.text().$type<'active' | 'frozen'>().notNull(),
      /** Why nothing may be spent; null while it may. */
      frozen_reason: d.text(),
      /** The most that may be spent on a day (UTC); null for no such limit. */
      daily_limit: d.units(),
      /** Of which day `spent` tells, in days since 1970. */
      spent_on: d.int().notNull().default(0),
      spent: d.units().notNull().default(sql`0`),
      /** Below this much available the owner is told; null for never. */
      low_balance: d.units(),
      /** Whether `low_balance` is the service's own, and follows it. */
      low_balance_default: d.boolean().notNull().default(true),
      low_state: d.text().$type<'no' | 'due' | 'told'>().notNull().default('no'),
      updated_at: d.time().notNull(),
    },
    (t) => [
      // For whoever tells them.
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
      /** The hold that this entry ends, by its entry's id: each ends once. */
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
      d.check('ledger_entries_moves', sql`${t.amount} <> 0 or ${t.held_delta} <> 0`),
      d.check(
        'ledger_entries_sign',
        sql`case ${t.kind} when 'send' then ${t.amount} < 0 when 'refund' then ${t.amount} > 0 when 'grant' then ${t.amount} > 0 when 'purchase' then ${t.amount} > 0 else true end`,
      ),
    ],
  )
  /** What is held just now: a row goes when its hold ends. */
  const credit_holds = d.table(
    'credit_holds',
    {
      workspace_id: d.text().notNull(),
      /** The entry that holds. */
      id: d.text().notNull(),
      message_id: d.text().notNull(),
      /** Counts the holds of one message from 0: a long call holds again. */
      n: d.int().notNull(),
      amount: d.units().notNull(),
      /** When it is released by itself. */
      expires_at: d.time().notNull(),
      created_at: d.time().notNull(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.id] }),
      d.uniqueIndex('credit_holds_message').on(t.workspace_id, t.message_id, t.n),
      d.index('credit_holds_expires').on(t.expires_at),
    ],
  )
  /** Credits that expire: what is left of each grant, counted anew whenever a lot begins or ends. */
  const credit_lots = d.table(
    'credit_lots',
    {
      workspace_id: d.text().notNull(),
      /** The entry that granted it. */
      id: d.text().notNull(),
      amount: d.units().notNull(),
      remaining: d.units().notNull(),
      granted_seq: d.long().notNull(),
      /** The last entry that `remaining` has counted. */
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
  const idempotency_keys = d.table(
    'idempotency_keys',
    {
      workspace_id: d.text().notNull(),
      route: d.text().notNull(),
      key: d.text().notNull(),
      request_hash: d.text().notNull(),
      /** The `data` that was answered, as JSON text: replayed to the byte. */
      response: d.text().notNull(),
      created_at: d.time().notNull(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.route, t.key] }),
      // For whoever removes those that ended.
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
      /** What the workspace gets, bonus included. */
      credits: d.units().notNull(),
      /** The price in minor units of its currency. */
      amount: d.int().notNull(),
      currency: d.text().notNull(),
      provider: d.text().notNull(),
      /** The checkout session at the payment provider; null until it has answered. */
      session_id: d.text(),
      /** The payment of the session, which refunds and disputes name; null until it is known. */
      payment_id: d.text(),
      checkout_url: d.text(),
      success_url: d.text(),
      cancel_url: d.text(),
      /** How often this row changed: a change is made to the version that was read, or not at all. */
      version: d.int().notNull(),
      /** Why an operator should look at it: nothing is granted meanwhile. */
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
      // For whoever looks at all of a time once more.
      d.index('purchases_created').on(t.created_at),
    ],
  )
  return {
    credit_accounts,
    ledger_entries,
    credit_holds,
    credit_lots,
    idempotency_keys,
    purchases,
  }
}

function messageTables(d: Dialect) {
  const messages = d.table(
    'messages',
    {
      id: d.text().notNull(),
      workspace_id: d.text().notNull(),
      api_key_id: d.text(),
      bulk_id: d.text(),
      channel: d.text().$type<Channel>().notNull(),
      sender: d.text(),
      recipient: d.text().notNull(),
      content: d.json<Content>().notNull(),
      metadata: d.json<Metadata>().notNull(),
      livemode: d.boolean().notNull(),
      status: d.text().$type<MessageStatus>().notNull(),
      /** Whether a provider ever took the message: decides refunds and which late receipts may still count. */
      accepted: d.boolean().notNull(),
      credits_used: d.units().notNull(),
      credits_refunded: d.units().notNull(),
      segments: d.int(),
      encoding: d.text().$type<'GSM-7' | 'UCS-2'>(),
      provider: d.text(),
      provider_message_id: d.text(),
      error_code: d.text(),
      error_message: d.text(),
      /** How many status changes there were; numbers the events of this message. */
      sequence: d.int().notNull(),
      created_at: d.time().notNull(),
      updated_at: d.time().notNull(),
      scheduled_at: d.time(),
      expires_at: d.time(),
      sent_at: d.time(),
      delivered_at: d.time(),
      read_at: d.time(),
      failed_at: d.time(),
      /** When recipient, content and metadata were taken out of it, after their time or because somebody asked. */
      erased_at: d.time(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.id] }),
      // A list by channel or status finds its first page at once, however few of a million match.
      d.index('messages_kind').on(t.workspace_id, t.channel, t.status, t.id),
      d.index('messages_bulk').on(t.workspace_id, t.bulk_id, t.id).where(sql`bulk_id is not null`),
      // What a test key sees. `livemode` is in the key for SQLite, which otherwise prefers the primary key.
      d
        .index('messages_test')
        .on(t.workspace_id, t.livemode, t.channel, t.status, t.id)
        .where(sql`livemode = false`),
    ],
  )
  /** How many messages a workspace has: counting them anew for each list would cost more the longer its history. */
  const message_counts = d.table(
    'message_counts',
    {
      workspace_id: d.text().notNull(),
      channel: d.text().$type<Channel>().notNull(),
      status: d.text().$type<MessageStatus>().notNull(),
      count: d.long().notNull(),
      /** How many of them were sent with test keys. */
      test_count: d.long().notNull().default(0),
    },
    (t) => [d.primaryKey({ columns: [t.workspace_id, t.channel, t.status] })],
  )
  const bulks = d.table(
    'bulks',
    {
      id: d.text().notNull(),
      workspace_id: d.text().notNull(),
      api_key_id: d.text(),
      channel: d.text().$type<Channel>().notNull(),
      livemode: d.boolean().notNull(),
      total: d.int().notNull(),
      accepted: d.int().notNull(),
      rejected: d.int().notNull(),
      duplicates: d.int().notNull(),
      credits_used: d.units().notNull(),
      /** The bulk whose failed messages these are: each is retried once. */
      retry_of: d.text(),
      created_at: d.time().notNull(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.id] }),
      d
        .uniqueIndex('bulks_retry_of')
        .on(t.workspace_id, t.retry_of)
        .where(sql`retry_of is not null`),
    ],
  )
  const message_queue = d.table(
    'message_queue',
    {
      message_id: d.text().primaryKey(),
      workspace_id: d.text().notNull(),
      channel: d.text().$type<Channel>().notNull(),
      task: d.text().$type<'send' | 'lookup'>().notNull(),
      /** When to claim it next. While claimed: when the lease ends. */
      due_at: d.time().notNull(),
      /** When `due_at` was set: later than now means that the clock was ahead then, and `due_at` with it. */
      set_at: d.time(),
      /** The fencing token of the claim that holds it; null when nobody does. */
      token: d.text(),
      attempt: d.int().notNull(),
      /** Since when it is unknown whether a provider has the message; null when that is known. */
      unknown_since: d.time(),
    },
    (t) => [d.index('message_queue_due').on(t.due_at)],
  )
  const message_attempts = d.table(
    'message_attempts',
    {
      workspace_id: d.text().notNull(),
      message_id: d.text().notNull(),
      number: d.int().notNull(),
      provider: d.text().notNull(),
      /** `started` is journalled before the provider is called. */
      outcome: d
        .text()
        .$type<'started' | 'accepted' | 'rejected' | 'retry' | 'ambiguous'>()
        .notNull(),
      provider_message_id: d.text(),
      error_code: d.text(),
      error_message: d.text(),
      started_at: d.time().notNull(),
      finished_at: d.time(),
    },
    (t) => [d.primaryKey({ columns: [t.workspace_id, t.message_id, t.number] })],
  )
  const message_events = d.table(
    'message_events',
    {
      workspace_id: d.text().notNull(),
      message_id: d.text().notNull(),
      id: d.text().notNull(),
      /** The status reported; a change of the message only where `applied`. */
      status: d.text().$type<MessageStatus>().notNull(),
      applied: d.boolean().notNull(),
      error_code: d.text(),
      error_message: d.text(),
      at: d.time().notNull(),
    },
    (t) => [d.primaryKey({ columns: [t.workspace_id, t.message_id, t.id] })],
  )
  return { messages, message_counts, bulks, message_queue, message_attempts, message_events }
}

function providerTables(d: Dialect) {
  /** Who carries nothing just now, and why: a provider, or one sender of it. */
  const provider_pauses = d.table(
    'provider_pauses',
    {
      provider: d.text().notNull(),
      /** The sender that is paused; empty for the whole provider. */
      sender: d.text().notNull(),
      /** Who paused it: an operator, until he lets it go on; or its own answer that its settings are wrong. */
      cause: d.text().$type<'operator' | 'misconfigured'>().notNull(),
      code: d.text(),
      reason: d.text().notNull(),
      /** How often in a row it was paused for its settings: each time for longer. */
      failures: d.int().notNull(),
      /** When it is tried again by itself; null where an operator must say so. */
      retry_at: d.time(),
      created_at: d.time().notNull(),
    },
    (t) => [d.primaryKey({ columns: [t.provider, t.sender] })],
  )
  /** What receipts that do not bring our id name a message by: one row for each of its parts. */
  const message_parts = d.table(
    'message_parts',
    {
      workspace_id: d.text().notNull(),
      message_id: d.text().notNull(),
      /** Counts the parts of one attempt from 1. */
      number: d.int().notNull(),
      attempt: d.int().notNull(),
      provider: d.text().notNull(),
      provider_message_id: d.text().notNull(),
      status: d.text().$type<'sent' | 'delivered' | 'failed'>().notNull(),
      created_at: d.time().notNull(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.message_id, t.attempt, t.number] }),
      d.index('message_parts_provider').on(t.provider, t.provider_message_id, t.created_at),
    ],
  )
  /** Receipts that came before what they tell of was known: kept for a while, and tried again. */
  const parked_receipts = d.table(
    'parked_receipts',
    {
      id: d.text().primaryKey(),
      provider: d.text().notNull(),
      provider_message_id: d.text().notNull(),
      receipt: d.json<Receipt>().notNull(),
      created_at: d.time().notNull(),
    },
    (t) => [d.index('parked_receipts_created').on(t.created_at)],
  )
  /** Who wrote to whom from which sender: tells whose an answer is. */
  const conversations = d.table(
    'conversations',
    {
      workspace_id: d.text().notNull(),
      channel: d.text().$type<Channel>().notNull(),
      sender: d.text().notNull(),
      /** The recipient's number, as suppressions have it. */
      address: d.text().notNull(),
      last_sent_at: d.time().notNull(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.channel, t.sender, t.address] }),
      d.index('conversations_address').on(t.channel, t.address, t.sender, t.last_sent_at),
    ],
  )
  /** What recipients wrote. */
  const received_messages = d.table(
    'received_messages',
    {
      id: d.text().notNull(),
      /** Empty where nobody could be found whom it was written to. */
      workspace_id: d.text().notNull(),
      channel: d.text().$type<Channel>().notNull(),
      provider: d.text().notNull(),
      provider_message_id: d.text(),
      sender: d.text().notNull(),
      recipient: d.text().notNull(),
      content: d.json<ReceivedContent>().notNull(),
      /** What the text asks for, where it is one of the words that do. */
      keyword: d.text().$type<'stop' | 'start' | 'help'>(),
      /** False for an answer to a message of a test key. */
      livemode: d.boolean().notNull().default(true),
      created_at: d.time().notNull(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.id] }),
      d
        .uniqueIndex('received_messages_provider')
        .on(t.workspace_id, t.provider, t.provider_message_id)
        .where(sql`provider_message_id is not null`),
      d
        .index('received_messages_test')
        .on(t.workspace_id, t.livemode, t.id)
        .where(sql`livemode = false`),
    ],
  )
  /** Parts of a long text that a recipient wrote, until all are there. */
  const received_parts = d.table(
    'received_parts',
    {
      provider: d.text().notNull(),
      sender: d.text().notNull(),
      recipient: d.text().notNull(),
      reference: d.int().notNull(),
      total: d.int().notNull(),
      number: d.int().notNull(),
      /** UTF-16BE as hex: a part may end within a surrogate pair. */
      units: d.text().notNull(),
      created_at: d.time().notNull(),
    },
    (t) => [
      d.primaryKey({
        columns: [t.provider, t.sender, t.recipient, t.reference, t.total, t.number],
      }),
      d.index('received_parts_created').on(t.created_at),
    ],
  )
  return {
    provider_pauses,
    message_parts,
    parked_receipts,
    conversations,
    received_messages,
    received_parts,
  }
}

function webhookTables(d: Dialect) {
  const webhooks = d.table(
    'webhooks',
    {
      id: d.text().notNull(),
      workspace_id: d.text().notNull(),
      url: d.text().notNull(),
      description: d.text(),
      events: d.json<string[]>().notNull(),
      /** Whether events of live messages go to it, of test messages, or both. */
      mode: d.text().$type<'all' | 'live' | 'test'>().notNull().default('all'),
      headers: d.json<SealedHeaders>().notNull(),
      secret: d.text().$type<Sealed>().notNull(),
      /** The secret before the last rotation, good until `previous_secret_ends_at`. */
      previous_secret: d.text().$type<Sealed>(),
      previous_secret_ends_at: d.time(),
      /** The fingerprint of the secret that signed what got the last 2xx while a rotation overlapped. */
      accepted_secret: d.text(),
      is_active: d.boolean().notNull(),
      status: d.text().$type<'active' | 'failing' | 'disabled'>().notNull(),
      disabled_reason: d.text(),
      /** When the owner let it start anew after it was disabled. */
      enabled_at: d.time(),
      consecutive_failures: d.int().notNull(),
      last_success_at: d.time(),
      last_failure_at: d.time(),
      created_at: d.time().notNull(),
      updated_at: d.time().notNull(),
    },
    (t) => [d.primaryKey({ columns: [t.workspace_id, t.id] })],
  )
  const events = d.table(
    'events',
    {
      workspace_id: d.text().notNull(),
      /** The `webhook-id` of every delivery of this event. */
      id: d.text().notNull(),
      event: d.text().notNull(),
      message_id: d.text(),
      /** The exact bytes that are signed and sent, the same on every attempt. */
      body: d.text().notNull(),
      created_at: d.time().notNull(),
    },
    (t) => [d.primaryKey({ columns: [t.workspace_id, t.id] })],
  )
  const deliveries = d.table(
    'deliveries',
    {
      id: d.text().notNull(),
      workspace_id: d.text().notNull(),
      webhook_id: d.text().notNull(),
      event_id: d.text().notNull(),
      event: d.text().notNull(),
      message_id: d.text(),
      status: d.text().$type<'pending' | 'delivered' | 'failed' | 'discarded'>().notNull(),
      trigger: d.text().$type<'event' | 'test' | 'manual'>().notNull(),
      /** As `livemode` of its event. */
      livemode: d.boolean().notNull().default(true),
      attempt_count: d.int().notNull(),
      max_attempts: d.int().notNull(),
      next_attempt_at: d.time(),
      response_status: d.int(),
      response_time_ms: d.int(),
      error: d.text(),
      created_at: d.time().notNull(),
      updated_at: d.time().notNull(),
      delivered_at: d.time(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.webhook_id, t.id] }),
      d.index('deliveries_message').on(t.workspace_id, t.message_id),
    ],
  )
  const delivery_queue = d.table(
    'delivery_queue',
    {
      delivery_id: d.text().primaryKey(),
      workspace_id: d.text().notNull(),
      webhook_id: d.text().notNull(),
      due_at: d.time().notNull(),
      /** When `due_at` was set, as in `message_queue`. */
      set_at: d.time(),
      token: d.text(),
    },
    // Claims walk webhook by webhook, so that no backlog of one can hide the others.
    (t) => [d.index('delivery_queue_due').on(t.webhook_id, t.due_at)],
  )
  const delivery_attempts = d.table(
    'delivery_attempts',
    {
      workspace_id: d.text().notNull(),
      delivery_id: d.text().notNull(),
      number: d.int().notNull(),
      started_at: d.time().notNull(),
      duration_ms: d.int().notNull(),
      response_status: d.int(),
      response_body: d.text(),
      error: d.text(),
    },
    (t) => [d.primaryKey({ columns: [t.workspace_id, t.delivery_id, t.number] })],
  )
  return { webhooks, events, deliveries, delivery_queue, delivery_attempts }
}

function operatingTables(d: Dialect) {
  /** Why nothing is sent or delivered at all just now: one row, or none. */
  const dispatch_pauses = d.table('dispatch_pauses', {
    /** Always `all`. */
    scope: d.text().primaryKey(),
    /** Who paused it: an operator; or the restoring of a backup, until an operator has looked. */
    cause: d.text().$type<'operator' | 'restore'>().notNull(),
    reason: d.text().notNull(),
    /** Of a restore: when the backup was made. What happened after it is not known here. */
    backup_at: d.time(),
    created_at: d.time().notNull(),
  })
  /** How far in a workspace's history the time of keeping has been applied. */
  const retention_marks = d.table(
    'retention_marks',
    {
      workspace_id: d.text().notNull(),
      kind: d
        .text()
        .$type<'messages' | 'late_messages' | 'events' | 'received_messages'>()
        .notNull(),
      /** Rows whose id sorts before this one are done. */
      before_id: d.text().notNull(),
    },
    (t) => [d.primaryKey({ columns: [t.workspace_id, t.kind] })],
  )
  /** Who changed what: written in the transaction of the change, without contents, recipients or secrets. */
  const audit_entries = d.table(
    'audit_entries',
    {
      id: d.text().notNull(),
      /** Empty for what concerns the service and no workspace. */
      workspace_id: d.text().notNull(),
      action: d.text().$type<AuditAction>().notNull(),
      actor_kind: d.text().$type<ActorKind>().notNull(),
      /** The API key, or the name of the operator. */
      actor_id: d.text(),
      /** The IP address of the client. */
      address: d.text(),
      target_type: d.text(),
      target_id: d.text(),
      details: d.json<Record<string, unknown>>().notNull(),
      request_id: d.text(),
      created_at: d.time().notNull(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.id] }),
      // The operator's list over all workspaces, and the removal of old entries: ids are in the order of time.
      d.index('audit_entries_id').on(t.id),
    ],
  )
  return { dispatch_pauses, retention_marks, audit_entries }
}
