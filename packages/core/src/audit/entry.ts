import type { ActorKind, AuditAction } from '../contract/resources/audit.ts'
import type { AuditEntryRow } from '../rows/rows.ts'
import type { Runtime } from '../runtime/runtime.ts'

/** The actor of a change in the audit log. */
export interface Actor {
  kind: ActorKind
  /** The id of the API key or of the member, or the name of the operator; otherwise null, for the owner too. */
  id: string | null
  /** The IP address of the client; null if there is no client. */
  address: string | null
  /** The `X-Request-Id` of the response; null if there is no request. */
  request_id: string | null
  /** The session that makes the change. The transaction checks it again, so that an ended session changes nothing. */
  session?: {
    /** The login; default: the owner of the workspace. */
    user_id?: string | undefined
    session_hash: string
    token_version: number
  }
}

/** The default actor of every change: svc itself, or the program that embeds it. */
export const SERVICE: Actor = { kind: 'service', id: null, address: null, request_id: null }

/** A change. It contains names of fields, amounts and counts, never contents, recipients or secrets. */
export interface AuditedChange {
  /** The changed workspace; empty for a change of the whole service. */
  workspace_id: string
  action: AuditAction
  /** The changed object; absent for the workspace itself. */
  target?: { type: string; id: string }
  details?: Record<string, string | number | boolean | null | readonly string[]>
}

/** The row of a change. The caller writes it in the transaction of the change. */
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
