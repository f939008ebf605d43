import { sql } from 'drizzle-orm'
import type {
  Audience,
  BroadcastStatus,
  BroadcastTimeZone,
  Departure,
  PauseReason,
} from '../contract/resources/broadcasts.ts'
import type { Channel } from '../contract/resources/content.ts'
import type { TemplateValues } from '../contract/resources/template-use.ts'
import type { Dialect } from './dialect.ts'

/** A departure, whose time is ISO 8601. */
export type StoredDeparture = Omit<Departure, 'at'> & { at: string }

export function broadcastTables(d: Dialect) {
  const broadcasts = d.table(
    'broadcasts',
    {
      workspace_id: d.text().notNull(),
      id: d.text().notNull(),
      /** The API key, or the login, with which it is sent. */
      api_key_id: d.text().notNull(),
      name: d.text(),
      channel: d.text().$type<Channel>().notNull(),
      sender: d.text(),
      template: d.text().notNull(),
      /** The version that the request names; from the start on, the version of all messages. */
      template_version: d.int(),
      template_locale: d.text(),
      variables: d.json<TemplateValues>().notNull(),
      audience: d.json<Audience>().notNull(),
      /** Messages in a minute; null: no limit. */
      rate: d.int(),
      status: d.text().$type<BroadcastStatus>().notNull(),
      pause_reason: d.text().$type<PauseReason>(),
      pause_message: d.text(),
      /** With `time_zone`: the local time of recipients, as if it were UTC. */
      scheduled_at: d.time(),
      /** Null: `scheduled_at` is an instant. */
      time_zone: d.text().$type<BroadcastTimeZone>(),
      /** When accepted messages go; null without `time_zone`. */
      departures: d.json<StoredDeparture[]>(),
      /** When its next step is due: the start, the next messages, or the cancellation of queued ones. Null: no step follows. */
      next_at: d.time(),
      /** The last contact that had its turn; empty before the first one. */
      cursor: d.text().notNull(),
      /** The newest contact at the start: later contacts get no message. */
      until_id: d.text(),
      /** The last of its bulks. */
      last_bulk_id: d.text(),
      /** The last of its bulks whose queued messages were canceled; empty before the first one. */
      canceled_through: d.text().notNull(),
      /** The size of the audience at the start; null if it was not counted. */
      audience_size: d.int(),
      contacts: d.int().notNull(),
      accepted: d.int().notNull(),
      suppressed: d.int().notNull(),
      no_address: d.int().notNull(),
      rejected: d.int().notNull(),
      credits_used: d.units().notNull(),
      created_at: d.time().notNull(),
      updated_at: d.time().notNull(),
      started_at: d.time(),
      finished_at: d.time(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.id] }),
      d.index('broadcasts_due').on(t.next_at).where(sql`next_at is not null`),
    ],
  )
  return { broadcasts }
}
