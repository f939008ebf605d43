import type { ActorKind, AuditAction } from '../contract/resources/audit.ts'
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
  /** The point in a workspace's history up to which retention has been applied. */
  const retention_marks = d.table(
    'retention_marks',
    {
      workspace_id: d.text().notNull(),
      kind: d
        .text()
        .$type<'messages' | 'late_messages' | 'events' | 'received_messages' | 'bulk_rejections'>()
        .notNull(),
      /** Retention has been applied to the rows with lower ids. */
      before_id: d.text().notNull(),
    },
    (t) => [d.primaryKey({ columns: [t.workspace_id, t.kind] })],
  )
  /** Audit entries. Each is written in the transaction of its change, without contents, recipients or secrets. */
  const audit_entries = d.table(
    'audit_entries',
    {
      id: d.text().notNull(),
      /** The workspace; empty for changes of the service. */
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
      // This index serves the operator's list and the removal of old entries: ids are sorted by time.
      d.index('audit_entries_id').on(t.id),
    ],
  )
  return { dispatch_pauses, retention_marks, audit_entries }
}
