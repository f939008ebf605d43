import type { AuditAction } from '../contract/resources/audit.ts'
import type { AuditEntryRow } from '../rows/rows.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Actor } from './actor.ts'

/** What changed, without what it says: names of fields, amounts and counts, never contents, recipients or secrets. */
export interface AuditedChange {
  /** Empty for what concerns the service and no workspace. */
  workspace_id: string
  action: AuditAction
  /** What was changed; none where it is the workspace itself. */
  target?: { type: string; id: string }
  details?: Record<string, string | number | boolean | null | readonly string[]>
}

/** The row of a change, to be written in its transaction. */
export function auditRow(
  { id, now }: Pick<Runtime, 'id' | 'now'>,
  actor: Actor,
  { workspace_id, action, target, details = {} }: AuditedChange,
): AuditEntryRow {
  return {
    id: id(),
    workspace_id,
    action,
    actor_kind: actor.kind,
    actor_id: actor.id,
    address: actor.address,
    target_type: target?.type ?? null,
    target_id: target?.id ?? null,
    details,
    request_id: actor.request_id,
    created_at: now(),
  }
}
