import type { Slice } from '../../contract/endpoints/paging.ts'
import type { AuditAction } from '../../contract/resources/audit.ts'
import type { AuditEntryRow } from '../../rows/rows.ts'

/** Selects entries of a list; an absent field does not restrict it. */
export interface AuditFilter {
  action?: AuditAction | undefined
  from?: Date | undefined
  until?: Date | undefined
}

/** Selects entries of the operator's list: all entries, or the entries of one workspace. */
export interface OperatorAuditFilter extends AuditFilter {
  workspace_id?: string | undefined
}

/** A workspace with too many entries of an action. */
export interface OverfullAudit {
  workspace_id: string
  action: AuditAction
  /** The id of the oldest entry to keep. */
  oldest_kept: string
}

export interface AuditReads {
  /** Returns the newest first. The empty workspace id selects the entries about the service. */
  list(workspaceId: string, filter: AuditFilter, page: Slice): Promise<AuditEntryRow[]>
  count(workspaceId: string, filter: AuditFilter): Promise<number>
  /** The operator's list: entries of all workspaces and of the service, newest first. */
  ofAll(filter: OperatorAuditFilter, page: Slice): Promise<AuditEntryRow[]>
  /** The workspaces that have more than `max` entries of an action, each with the id of the oldest entry to keep. */
  overfull(max: number): Promise<OverfullAudit[]>
}

export interface AuditWrites {
  record(entry: AuditEntryRow): Promise<void>
  /** Removes at most `limit` entries that are older than `before`; returns their number. */
  forget(before: Date, limit: number): Promise<number>
  /** Removes at most `limit` entries of an action that are older than `oldest_kept`; returns their number. */
  trim(over: OverfullAudit, limit: number): Promise<number>
}
