import { sql } from 'drizzle-orm'
import type { Receipt, ReceivedContent } from '../contract/outside/provider.ts'
import type { Channel } from '../contract/resources/messages.ts'
import type { Dialect } from './dialect.ts'

export function providerTables(d: Dialect) {
  /** Paused providers, and paused senders of a provider. */
  const provider_pauses = d.table(
    'provider_pauses',
    {
      provider: d.text().notNull(),
      /** The paused sender; empty for the whole provider. */
      sender: d.text().notNull(),
      /** `operator`: an operator paused it. `misconfigured`: the provider answered that its settings are wrong. */
      cause: d.text().$type<'operator' | 'misconfigured'>().notNull(),
      code: d.text(),
      reason: d.text().notNull(),
      /** The number of successive pauses for wrong settings; each is longer than the previous pause. */
      failures: d.int().notNull(),
      /** The time at which the pause ends; null if only an operator ends it. */
      retry_at: d.time(),
      created_at: d.time().notNull(),
    },
    (t) => [d.primaryKey({ columns: [t.provider, t.sender] })],
  )
  /** The parts of messages with the provider's ids. They find the message of a receipt without the service's id. */
  const message_parts = d.table(
    'message_parts',
    {
      workspace_id: d.text().notNull(),
      message_id: d.text().notNull(),
      /** The number of the part within its attempt, from 1. */
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
  /** Receipts that arrived before their message was known: they are kept for a time and retried. */
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
  /** The last message of a workspace's sender to an address. It assigns answers to workspaces. */
  const conversations = d.table(
    'conversations',
    {
      workspace_id: d.text().notNull(),
      channel: d.text().$type<Channel>().notNull(),
      sender: d.text().notNull(),
      /** The address, in the same form as in `suppressions`. */
      address: d.text().notNull(),
      last_sent_at: d.time().notNull(),
      /** Another form of the number, by which the provider knows the person. */
      other_number: d.text(),
      /** The id by which the provider knows the person without a number. */
      user_id: d.text(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.channel, t.sender, t.address] }),
      d.index('conversations_address').on(t.channel, t.address, t.sender, t.last_sent_at),
      d
        .index('conversations_other_number')
        .on(t.channel, t.other_number)
        .where(sql`other_number is not null`),
      d.index('conversations_user_id').on(t.channel, t.user_id).where(sql`user_id is not null`),
    ],
  )
  const received_messages = d.table(
    'received_messages',
    {
      id: d.text().notNull(),
      /** The workspace; empty when none was found. */
      workspace_id: d.text().notNull(),
      channel: d.text().$type<Channel>().notNull(),
      provider: d.text().notNull(),
      provider_message_id: d.text(),
      sender: d.text().notNull(),
      recipient: d.text().notNull(),
      content: d.json<ReceivedContent>().notNull(),
      keyword: d.text().$type<'stop' | 'start' | 'help'>(),
      /** False for a reply to a message of a test key. */
      livemode: d.boolean().notNull().default(true),
      created_at: d.time().notNull(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.id] }),
      d
        .uniqueIndex('received_messages_provider')
        .on(t.workspace_id, t.provider, t.provider_message_id)
        .where(sql`provider_message_id is not null`),
      // This index serves the messages of one author, and finds the newest message of each.
      d.index('received_messages_author').on(t.workspace_id, t.channel, t.sender, t.id),
      d
        .index('received_messages_test')
        .on(t.workspace_id, t.livemode, t.id)
        .where(sql`livemode = false`),
    ],
  )
  /** Received parts of a long text, until the text is complete. */
  const received_parts = d.table(
    'received_parts',
    {
      provider: d.text().notNull(),
      sender: d.text().notNull(),
      recipient: d.text().notNull(),
      reference: d.int().notNull(),
      total: d.int().notNull(),
      number: d.int().notNull(),
      /** The text as UTF-16BE in hex: a part can end within a surrogate pair. */
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
