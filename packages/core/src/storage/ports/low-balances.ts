import type { Units } from '../../contract/fields/units.ts'

/** The balance of a workspace when it fell below the threshold. */
export interface LowBalance {
  workspace_id: string
  available: Units
  threshold: Units
}

export interface LowBalanceReads {
  /** The workspaces whose owners are still to be notified: at most `limit`, by id, after `after`. */
  due(limit: number, after?: string): Promise<string[]>
}

export interface LowBalanceWrites {
  /** Records that the owner is notified. Each crossing is returned to one caller; all others get null. */
  claimNotice(workspaceId: string): Promise<LowBalance | null>
  /**
   * Gives a workspace its own threshold, or none. If the value is the current one, nothing changes: a default stays a
   * default. A threshold above the current balance does not notify the owner: only a later fall below the threshold
   * does.
   */
  set(workspaceId: string, threshold: Units | null, at: Date): Promise<void>
  /** Gives every workspace without its own threshold the service's default. */
  setDefault(threshold: Units | null, at: Date): Promise<void>
}
