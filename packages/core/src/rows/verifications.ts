import { sql } from 'drizzle-orm'
import type { Metadata } from '../contract/fields/fields.ts'
import type { Channel } from '../contract/resources/content.ts'
import type { CodeTemplate, VerificationStatus } from '../contract/resources/verifications.ts'
import type { Dialect } from './dialect.ts'

/** What the text of a code needs when it is sent again. */
export interface CodeOptions {
  /** An e-mail address as it was given; `recipient` or `other_recipient` has it in lower case. */
  to?: string | undefined
  from?: string | undefined
  /** The channel of the sender `from`; absent in older rows: that of the first message. */
  from_channel?: Channel | undefined
  /** The requested language; absent: none was, or the row is of an older version. The column has that of the last text. */
  locale?: string | undefined
  /** The name of an approved template for WhatsApp, or a stored template with its version. */
  template?: string | CodeTemplate | undefined
  domain?: string | undefined
  app_hash?: string | undefined
  /** Seconds after a message until the next channel is tried. */
  fallback_after?: number | undefined
}

/** One message with a code. */
export interface CodeMessage {
  id: string
  channel: Channel
  /** Milliseconds since 1970. */
  sent_at: number
}

/** From what the code of a message is derived. It is in the content of the message, and useless without the key of the service. */
export interface CodeSource {
  seed: string
  length: number
  /** Digits that are added to the derived ones, for a code that another service made. */
  shift?: string
}

export function verificationTables(d: Dialect) {
  const verifications = d.table(
    'verifications',
    {
      workspace_id: d.text().notNull(),
      id: d.text().notNull(),
      api_key_id: d.text(),
      livemode: d.boolean().notNull(),
      /** The channel of the last message. */
      channel: d.text().$type<Channel>().notNull(),
      /** A number in E.164, or an e-mail address in lower case. */
      recipient: d.text().notNull(),
      /** The language of the last text. */
      locale: d.text().notNull(),
      options: d.json<CodeOptions>().notNull(),
      status: d.text().$type<VerificationStatus>().notNull(),
      /** Random bytes in base64url: with the key of the service they give the code. Null after the end. */
      seed: d.text(),
      code_length: d.int().notNull(),
      /** The number of wrong codes. */
      attempts: d.int().notNull(),
      /** The times of its messages, in milliseconds since 1970. */
      sent_at: d.json<number[]>().notNull(),
      /** The last message. */
      message_id: d.text().notNull(),
      credits_used: d.units().notNull(),
      /** The country of the number: ISO 3166-1, or `ZZ` for a number of no country; null for an e-mail address. */
      country: d.text(),
      /** The network of the person's device. */
      client_network: d.text(),
      metadata: d.json<Metadata>().notNull(),
      /** Seconds for which a code is valid. */
      expires_in: d.int().notNull(),
      created_at: d.time().notNull(),
      updated_at: d.time().notNull(),
      expires_at: d.time().notNull(),
      ended_at: d.time(),
      /** The channels that are tried next, in this order; null: none. */
      fallback: d.json<Channel[]>(),
      /** When the next channel is tried unless the last message is delivered; null: never. */
      fallback_at: d.time(),
      /** The second address, of the other kind, stored as `recipient`; null: no channel needs one. */
      other_recipient: d.text(),
      /** All its messages; null in rows that are older than this column. */
      messages: d.json<CodeMessage[]>(),
      /** Whether the contents of its messages no longer say from what the code is derived. */
      code_removed: d.boolean().notNull().default(false),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.id] }),
      d
        .index('verifications_fallback')
        .on(t.fallback_at)
        .where(sql`fallback_at is not null and ended_at is null`),
      d
        .index('verifications_other')
        .on(t.workspace_id, t.other_recipient, t.created_at)
        .where(sql`other_recipient is not null`),
      d.index('verifications_recipient').on(t.workspace_id, t.recipient, t.livemode, t.created_at),
      d.index('verifications_open').on(t.expires_at).where(sql`ended_at is null`),
      d.index('verifications_ended').on(t.ended_at).where(sql`ended_at is not null`),
      d.index('verifications_code').on(t.created_at).where(sql`code_removed = false`),
      d
        .index('verifications_network')
        .on(t.workspace_id, t.client_network, t.created_at)
        .where(sql`client_network is not null`),
      d.index('verifications_status').on(t.workspace_id, t.status, t.id),
    ],
  )
  /** The numbers of live messages with codes and of approvals, for each country and hour (UTC). */
  const verification_counts = d.table(
    'verification_counts',
    {
      workspace_id: d.text().notNull(),
      country: d.text().notNull(),
      hour: d.time().notNull(),
      sent: d.long().notNull(),
      approved: d.long().notNull(),
      credits_used: d.units().notNull(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.country, t.hour] }),
      d.index('verification_counts_hour').on(t.hour),
    ],
  )
  /** Countries to which a workspace last sent no codes, because too few were approved, or to which an operator allows them. */
  const verification_pauses = d.table(
    'verification_pauses',
    {
      workspace_id: d.text().notNull(),
      country: d.text().notNull(),
      paused_at: d.time().notNull(),
      /** The counts that led to the pause. */
      sent: d.long().notNull(),
      approved: d.long().notNull(),
      /** Until this time, codes are sent whatever the counts are. Null: the counts decide. */
      allowed_until: d.time(),
    },
    (t) => [d.primaryKey({ columns: [t.workspace_id, t.country] })],
  )
  return { verifications, verification_counts, verification_pauses }
}
