import { sql } from 'drizzle-orm'
import { units } from '../contract/fields/units.ts'
import type { RecipientFault } from '../contract/resources/bulk.ts'
import type { EmailTag } from '../contract/resources/email-headers.ts'
import type { EventKind } from '../contract/resources/events.ts'
import type { MailRecipient } from '../contract/resources/mail-recipients.ts'
import type { Channel, Content, MessageStatus, Metadata } from '../contract/resources/messages.ts'
import type { Dialect } from './dialect.ts'

type Message = ReturnType<typeof messageTables>['messages']['$inferSelect']

/**
 * One of several recipients of an e-mail. `accepted`: a provider accepted the mail for this recipient, or may have, so
 * that its share of the price stays spent.
 */
export interface StoredRecipient extends MailRecipient {
  accepted: boolean
}

/** Where the changes of one message's status are reported, as the request to send it asks. */
export interface StatusCallbackRequest {
  url: string
  /** The events that are reported; default: all. */
  events?: readonly EventKind[]
  /** The method of the requests; default: POST. */
  method?: 'GET'
}

/** The status callback of a message, and the hidden webhook of its origin. */
export interface StatusCallback extends StatusCallbackRequest {
  webhook_id: string
}

/** The periods for which messages are counted. */
export const COUNT_UNITS = ['all', 'day', 'hour'] as const
export type CountUnit = (typeof COUNT_UNITS)[number]

/** A status in counts: the messages that a request canceled are counted apart from those that failed. */
export type CountedStatus = MessageStatus | 'canceled'

/** The values of a new message in the columns that only settling changes. */
export const UNSETTLED = {
  status: 'queued',
  accepted: false,
  credits_refunded: units(0),
  provider: null,
  provider_message_id: null,
  error_code: null,
  error_message: null,
  sequence: 0,
  sent_at: null,
  delivered_at: null,
  read_at: null,
  failed_at: null,
  duration_s: null,
} as const satisfies Partial<Message>

/** The columns of `messages` that settling writes: no other column can be assigned in a settlement. */
export type SettledColumn = keyof typeof UNSETTLED | 'credits_used' | 'recipients' | 'updated_at'
export const SETTLED_COLUMNS = [
  ...(Object.keys(UNSETTLED) as (keyof typeof UNSETTLED)[]),
  'credits_used',
  'recipients',
  'updated_at',
] as const satisfies SettledColumn[]

/** The columns in which new messages that are written together differ. */
export const VARYING_AMONG_NEW = [
  'id',
  'sender',
  'recipient',
  'content',
  'metadata',
  'credits_used',
  'segments',
  'encoding',
  'created_at',
  'updated_at',
  'expires_at',
] as const satisfies (keyof Message)[]

export function messageTables(d: Dialect) {
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
      /** All recipients of an e-mail that has several, with their outcomes; null for one recipient. */
      recipients: d.json<StoredRecipient[]>(),
      /** The tags of an e-mail. They are in its content too, which a settlement does not read. */
      tags: d.json<EmailTag[]>(),
      content: d.json<Content>().notNull(),
      metadata: d.json<Metadata>().notNull(),
      livemode: d.boolean().notNull(),
      status: d.text().$type<MessageStatus>().notNull(),
      /** Whether a provider accepted the message: refunds and late receipts depend on it. */
      accepted: d.boolean().notNull(),
      credits_used: d.units().notNull(),
      credits_refunded: d.units().notNull(),
      segments: d.int(),
      encoding: d.text().$type<'GSM-7' | 'UCS-2'>(),
      provider: d.text(),
      provider_message_id: d.text(),
      error_code: d.text(),
      error_message: d.text(),
      /** The number of status changes. It also numbers the message's events. */
      sequence: d.int().notNull(),
      created_at: d.time().notNull(),
      updated_at: d.time().notNull(),
      scheduled_at: d.time(),
      expires_at: d.time(),
      sent_at: d.time(),
      delivered_at: d.time(),
      read_at: d.time(),
      failed_at: d.time(),
      /** The time at which retention or a request removed recipient, content and metadata. */
      erased_at: d.time(),
      /** Where changes of the status are posted, through a hidden webhook; null for most messages. */
      status_callback: d.json<StatusCallback>(),
      /** The duration of a call that ended. */
      duration_s: d.int(),
      /** The name of the stored template of the content; null for most messages. */
      template: d.text(),
      template_version: d.int(),
      template_locale: d.text(),
      /** The end of the quiet hours that set `scheduled_at`; null for most messages. */
      deferred_until: d.time(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.id] }),
      // This index serves lists by channel or status. It finds a page at once, even if few of a million messages match.
      d.index('messages_kind').on(t.workspace_id, t.channel, t.status, t.id),
      d.index('messages_bulk').on(t.workspace_id, t.bulk_id, t.id).where(sql`bulk_id is not null`),
      d
        .index('messages_template')
        .on(t.workspace_id, t.template, t.id)
        .where(sql`template is not null`),
      // This index serves lists of test messages. Without `livemode` in its key, SQLite would prefer the primary key.
      d
        .index('messages_test')
        .on(t.workspace_id, t.livemode, t.channel, t.status, t.id)
        .where(sql`livemode = false`),
      // This index serves lists of canceled messages, which are a part of the failed ones.
      d
        .index('messages_canceled')
        .on(t.workspace_id, t.channel, t.id)
        .where(sql`error_code = 'canceled'`),
      // This index serves lists of messages that failed with one error. Canceled ones have their own.
      d
        .index('messages_error')
        .on(t.workspace_id, t.error_code, t.id)
        .where(sql`error_code <> 'canceled'`),
    ],
  )
  /**
   * The stored numbers of a workspace's messages. A count for each list would cost more with a longer history. A number is the sum of
   * the rows of its period; one of them may be negative.
   */
  const message_counts = d.table(
    'message_counts',
    {
      workspace_id: d.text().notNull(),
      /** The length of the period (UTC) in which the counted messages were created. */
      unit: d.text().$type<CountUnit>().notNull(),
      /** The start of the period, 1970 for `all`; later by `OF_SETTLEMENTS_MS` in the rows of settlements on PostgreSQL. */
      since: d.time().notNull(),
      channel: d.text().$type<Channel>().notNull(),
      status: d.text().$type<CountedStatus>().notNull(),
      count: d.long().notNull(),
      /** The number of these messages that test keys created. */
      test_count: d.long().notNull().default(0),
      /**
       * The lowest and the highest id of the messages of a day or an hour, in the row of the status in which they were
       * created. Ids alone do not prove the time: they also grow while the clock is set back.
       */
      first_id: d.text(),
      last_id: d.text(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.unit, t.since, t.channel, t.status] }),
      // This index serves the operator's totals of all workspaces.
      d
        .index('message_counts_all')
        .on(t.workspace_id, t.channel, t.status)
        .where(sql`unit = 'all'`),
    ],
  )
  /**
   * The index of messages by recipient, which the sweeper writes in sorted batches. An index of `messages` would write
   * another page for each message. A segment is small, so that a batch fills its pages, and a list reads all segments.
   */
  const recipient_segments = d.table(
    'recipient_segments',
    {
      workspace_id: d.text().notNull(),
      /** From 0. */
      number: d.int().notNull(),
      /** The segment has the messages from the previous segment's last id, exclusive, up to this id. */
      last_id: d.text().notNull(),
      /** The number of its entries. */
      count: d.int().notNull(),
    },
    (t) => [d.primaryKey({ columns: [t.workspace_id, t.number] })],
  )
  /**
   * One row for each message of a segment. It has 16 bits of a hash in place of the recipient, which many addresses
   * share: an erasure leaves it, and a list compares the recipient of each found message.
   */
  const recipient_entries = d.table(
    'recipient_entries',
    {
      workspace_id: d.text().notNull(),
      segment: d.int().notNull(),
      /** From 0 to 65,535. */
      bucket: d.int().notNull(),
      message_id: d.text().notNull(),
    },
    (t) => [d.primaryKey({ columns: [t.workspace_id, t.segment, t.bucket, t.message_id] })],
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
      /** The bulk whose failed messages this bulk retries; a bulk can be retried only once. */
      retry_of: d.text(),
      created_at: d.time().notNull(),
      /** The broadcast whose messages these are; null for most bulks. */
      broadcast_id: d.text(),
      /** The `campaign` of the metadata of the request; null without one. */
      name: d.text(),
      sender: d.text(),
      /** The content of the request, with its placeholders; null for e-mails that differ, and after its retention. */
      content: d.json<Record<string, unknown>>(),
      /** When a request paused it; null if it is not paused. */
      paused_at: d.time(),
      /** When the next messages that the pause held are freed. Null: no step follows. */
      next_at: d.time(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.id] }),
      d.index('bulks_paused').on(t.workspace_id, t.id).where(sql`paused_at is not null`),
      d.index('bulks_due').on(t.next_at).where(sql`next_at is not null`),
      d
        .uniqueIndex('bulks_retry_of')
        .on(t.workspace_id, t.retry_of)
        .where(sql`retry_of is not null`),
      d
        .index('bulks_broadcast')
        .on(t.workspace_id, t.broadcast_id, t.id)
        .where(sql`broadcast_id is not null`),
    ],
  )
  /** The recipients of a bulk that get no message. */
  const bulk_rejections = d.table(
    'bulk_rejections',
    {
      workspace_id: d.text().notNull(),
      bulk_id: d.text().notNull(),
      /** The position in the request, from 0: `index` in the API, which is a word of SQL. */
      position: d.int().notNull(),
      /** The beginning of the text that the request gives as address; null if a contact does not exist. */
      recipient: d.text(),
      error: d.text().$type<RecipientFault>().notNull(),
      message: d.text().notNull(),
    },
    (t) => [d.primaryKey({ columns: [t.workspace_id, t.bulk_id, t.position] })],
  )
  const message_queue = d.table(
    'message_queue',
    {
      message_id: d.text().primaryKey(),
      workspace_id: d.text().notNull(),
      channel: d.text().$type<Channel>().notNull(),
      task: d.text().$type<'send' | 'lookup'>().notNull(),
      /** The time of the next claim; for a claimed row, the end of the lease. */
      due_at: d.time().notNull(),
      /** When `due_at` was set. A time in the future means that the clock was ahead, so `due_at` is too late. */
      set_at: d.time(),
      /** The fencing token of the claim; null without a claim. */
      token: d.text(),
      attempt: d.int().notNull(),
      /** Whether the message belongs to a bulk or a broadcast. */
      is_bulk: d.boolean().notNull().default(false),
      /** The time since which it is unknown whether a provider has the message; null if this is known. */
      unknown_since: d.time(),
      /** The paused bulk or broadcast that holds the message until it is resumed: `due_at` is `HELD_UNTIL` meanwhile. */
      held_by: d.text(),
    },
    (t) => [
      d.index('message_queue_due').on(t.due_at),
      d.index('message_queue_held').on(t.held_by, t.message_id).where(sql`held_by is not null`),
      // While more is due than a claim takes, this index gives each workspace its turn. A message that is handed over as it is
      // queued is not in it.
      d
        .index('message_queue_waiting')
        .on(t.workspace_id, t.is_bulk, t.due_at)
        .where(sql`token is null`),
    ],
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
      /** The reported status. It changed the message only if `applied` is true. */
      status: d.text().$type<MessageStatus>().notNull(),
      applied: d.boolean().notNull(),
      error_code: d.text(),
      error_message: d.text(),
      at: d.time().notNull(),
    },
    (t) => [d.primaryKey({ columns: [t.workspace_id, t.message_id, t.id] })],
  )
  /** The larger files of e-mails, each once in a workspace. */
  const files = d.table(
    'files',
    {
      workspace_id: d.text().notNull(),
      /** The SHA-256 of the decoded bytes, in hexadecimal. */
      sha256: d.text().notNull(),
      size_bytes: d.int().notNull(),
      /** The number of rows of `file_chunks`. */
      chunks: d.int().notNull(),
      /** Whether all chunks are stored. */
      is_whole: d.boolean().notNull(),
      /** Since when the file waits for its first message, which may never be accepted; null with a message. */
      unused_since: d.time(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.sha256] }),
      d.index('files_unused').on(t.unused_since).where(sql`unused_since is not null`),
    ],
  )
  /** The base64 of a file in parts of a bounded size, so that neither a row nor a turn of the event loop is large. */
  const file_chunks = d.table(
    'file_chunks',
    {
      workspace_id: d.text().notNull(),
      sha256: d.text().notNull(),
      /** From 0. */
      number: d.int().notNull(),
      content: d.text().notNull(),
    },
    (t) => [d.primaryKey({ columns: [t.workspace_id, t.sha256, t.number] })],
  )
  /** The files of messages. The content of the message has the other fields of the attachment. */
  const message_files = d.table(
    'message_files',
    {
      workspace_id: d.text().notNull(),
      message_id: d.text().notNull(),
      /** The position among the attachments, from 0. */
      number: d.int().notNull(),
      sha256: d.text().notNull(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.message_id, t.number] }),
      d.index('message_files_sha256').on(t.workspace_id, t.sha256),
    ],
  )
  return {
    messages,
    files,
    file_chunks,
    message_files,
    message_counts,
    recipient_segments,
    recipient_entries,
    bulks,
    bulk_rejections,
    message_queue,
    message_attempts,
    message_events,
  }
}
