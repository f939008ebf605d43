import type { ActorKind, AuditAction } from '../contract/resources/audit.ts'
import type { Dialect } from './dialect.ts'

export function operatingTables(d: Dialect) {
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
