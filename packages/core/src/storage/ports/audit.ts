import type { AuditAction } from '../../contract/resources/audit.ts'
import type { AuditEntryRow } from '../../rows/rows.ts'

/** Which entries a list shows; a field that is left out does not restrict it. */
export interface AuditFilter {
  action?: AuditAction | undefined
  from?: Date | undefined
  until?: Date | undefined
}

/** What the operator's list shows: everything, or one workspace. */
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
  /** Newest first. The workspace is empty for what concerns the service and no workspace. */
  list(
    workspaceId: string,
    filter: AuditFilter,
    page: { limit: number; offset: number },
  ): Promise<AuditEntryRow[]>
  count(workspaceId: string, filter: AuditFilter): Promise<number>
  /** Of all workspaces and of the service, newest first: for the operator. */
  ofAll(
    filter: OperatorAuditFilter,
    page: { limit: number; offset: number },
  ): Promise<AuditEntryRow[]>
  /** The workspaces that have more than `max` entries of an action, each with the id of the oldest of them to keep. */
  overfull(max: number): Promise<OverfullAudit[]>
}

export interface AuditWrites {
  record(entry: AuditEntryRow): Promise<void>
  /** Removes entries from before a time, at most `limit`; answers how many. */
  forget(before: Date, limit: number): Promise<number>
  /** Removes the entries of an action that are older than `oldest_kept`, at most `limit`; answers how many. */
  trim(over: OverfullAudit, limit: number): Promise<number>
}
