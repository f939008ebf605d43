import type { ActorKind, AuditAction } from '../contract/resources/audit.ts'
import type { Dialect } from './dialect.ts'

export function operatingTables(d: Dialect) {
  /** The pause of all sending and delivery: one row, or none. */
  const dispatch_pauses = d.table('dispatch_pauses', {
    /** Always `all`. */
    scope: d.text().primaryKey(),
    /** An operator; or the restore of a backup, until an operator has reviewed it. */
    cause: d.text().$type<'operator' | 'restore'>().notNull(),
    reason: d.text().notNull(),
    /** For a restore: the time of the backup. Later events are not in the database. */
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
        .$type<'messages' | 'late_messages' | 'events' | 'received_messages'>()
        .notNull(),
      /** Rows with lower ids are done. */
      before_id: d.text().notNull(),
    },
    (t) => [d.primaryKey({ columns: [t.workspace_id, t.kind] })],
  )
  /** Written in the transaction of the change, without contents, recipients or secrets. */
  const audit_entries = d.table(
    'audit_entries',
    {
      id: d.text().notNull(),
      /** Empty for changes of the service. */
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
      // For the operator's list over all workspaces and the removal of old entries: ids are in the order of time.
      d.index('audit_entries_id').on(t.id),
    ],
  )
  return { dispatch_pauses, retention_marks, audit_entries }
}
