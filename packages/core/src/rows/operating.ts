import type { ActorKind, AuditAction } from '../contract/resources/audit.ts'
import type { Channel } from '../contract/resources/content.ts'
import type { Dialect } from './dialect.ts'

export function operatingTables(d: Dialect) {
  /** The pause of all sending and delivery: one row, or none. */
  const dispatch_pauses = d.table('dispatch_pauses', {
    /** The scope is always `all`. */
    scope: d.text().primaryKey(),
    /** `operator`: an operator paused it; `restore`: a backup was restored, and an operator has not reviewed it yet. */
    cause: d.text().$type<'operator' | 'restore'>().notNull(),
    reason: d.text().notNull(),
    /** The time of the backup, for `restore`. Later events are not in the database. */
    backup_at: d.time(),
    created_at: d.time().notNull(),
  })
  /**
   * The point in a workspace's history up to which retention has been applied. `bulk_contents` was the kind of an earlier version, which left
   * the names of some bulks.
   */
  const retention_marks = d.table(
    'retention_marks',
    {
      workspace_id: d.text().notNull(),
      kind: d
        .text()
        .$type<
          | 'messages'
          | 'late_messages'
          | 'events'
          | 'late_responses'
          | 'received_messages'
          | 'bulk_rejections'
          | 'bulk_texts'
        >()
        .notNull(),
      /** Retention has been applied to the rows with lower ids. */
      before_id: d.text().notNull(),
    },
    (t) => [d.primaryKey({ columns: [t.workspace_id, t.kind] })],
  )
  /**
   * What was removed from a workspace's history. Its ledger entries stay, so that the sums prove which entries may be
   * without a message or a bulk.
   */
  const removed_history = d.table('removed_history', {
    workspace_id: d.text().primaryKey(),
    /** The highest id of a removed message or bulk. */
    last_id: d.text().notNull(),
    messages: d.long().notNull(),
    bulks: d.long().notNull(),
    /** The sums of the entries of removed messages and bulks, in micro-credits: charged for messages, given back, charged for bulks. */
    charged: d.long().notNull(),
    refunded: d.long().notNull(),
    charged_bulks: d.long().notNull(),
    updated_at: d.time().notNull(),
  })
  /** Audit entries. Each is written in the transaction of its change, without contents, recipients or secrets. */
  const audit_entries = d.table(
    'audit_entries',
    {
      id: d.text().notNull(),
      /** The workspace; empty for changes of the service. */
      workspace_id: d.text().notNull(),
      action: d.text().$type<AuditAction>().notNull(),
      actor_kind: d.text().$type<ActorKind>().notNull(),
      /** The API key, the member, or the name of the operator. */
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
      // This index serves the operator's list and the removal of old entries: ids are sorted by time.
      d.index('audit_entries_id').on(t.id),
      // A rare action of the operator's list is found without a walk through all entries.
      d.index('audit_entries_action').on(t.action, t.id),
    ],
  )
  return { dispatch_pauses, retention_marks, removed_history, audit_entries }
}

/** The waiting messages of a channel whose last attempt was with one provider, and the messages in flight to it. */
export interface QueuePart {
  channel: Channel
  livemode: boolean
  /** The provider of the last attempt; null for messages without one. */
  provider: string | null
  /** Messages that are due within a minute: a message that finds its provider slow or paused waits less than that. */
  waiting: number
  /** The time at which the oldest of them was created, or for which it was scheduled. */
  oldest_waiting_at: Date | null
  /** Messages that were passed to the provider and have no outcome yet. */
  calls: number
  oldest_call_at: Date | null
  /** Messages for which it is unknown whether the provider has them. */
  unknown: number
  oldest_unknown_at: Date | null
}

/** A part without messages. */
export const EMPTY_PART: Omit<QueuePart, 'channel' | 'livemode' | 'provider'> = {
  waiting: 0,
  oldest_waiting_at: null,
  calls: 0,
  oldest_call_at: null,
  unknown: 0,
  oldest_unknown_at: null,
}
