import type { Units } from '../../contract/fields/units.ts'

/** The balance of a workspace when it fell below the threshold. */
export interface LowBalance {
  workspace_id: string
  available: Units
  threshold: Units
}

export interface LowBalanceReads {
  /** At most `limit` workspaces whose owners must be notified, sorted by id, with ids above `after`. */
  due(limit: number, after?: string): Promise<string[]>
}

export interface LowBalanceWrites {
  /** Records that the owner is notified. Returns each fall below the threshold to one caller; others get null. */
  claimNotice(workspaceId: string): Promise<LowBalance | null>
  /**
   * Gives a workspace its own threshold; null for none. If the value is the current one, nothing changes: a default
   * stays a default. A threshold above the current balance does not notify the owner: only a later fall below the
   * threshold does.
   */
  set(workspaceId: string, threshold: Units | null, at: Date): Promise<void>
  /** Gives every workspace without its own threshold the service's default. */
  setDefault(threshold: Units | null, at: Date): Promise<void>
}
