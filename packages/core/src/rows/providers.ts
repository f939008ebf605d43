import { sql } from 'drizzle-orm'
import type { Receipt, ReceivedContent } from '../contract/outside/provider.ts'
import type { Channel } from '../contract/resources/messages.ts'
import type { Dialect } from './dialect.ts'

export function providerTables(d: Dialect) {
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
