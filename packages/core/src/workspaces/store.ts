import type { WorkspaceRow } from '../storage/storage.ts'

export interface WorkspaceReads {
  byId(workspaceId: string): Promise<WorkspaceRow | null>
  /** Addresses are compared in lower case. */
  byEmail(email: string): Promise<WorkspaceRow | null>
  /** Every workspace, oldest first: for the operator's own commands. */
  list(page: { limit: number; offset: number }): Promise<WorkspaceRow[]>
}

export interface WorkspaceWrites {
  /** Answers false when the e-mail address is taken; nothing is written then. */
  insert(workspace: WorkspaceRow): Promise<boolean>
}
