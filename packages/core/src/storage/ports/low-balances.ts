import type { Units } from '../../contract/fields/units.ts'

/** How much a workspace had left when its owner was told that it is little. */
export interface LowBalance {
  workspace_id: string
  available: Units
  threshold: Units
}

export interface LowBalanceReads {
  /** Of all workspaces those whose owner is still to be told, by id and behind `after`; so many at the most. */
  due(limit: number, after?: string): Promise<string[]>
}

export interface LowBalanceWrites {
  /** Notes that the owner is told. One caller for each crossing is answered what there is to tell, all others null. */
  tell(workspaceId: string): Promise<LowBalance | null>
  /**
   * Gives a workspace a threshold of its own, or none. What it is already stays the service's if it was. Nobody is told
   * of a threshold that is set above what is left: only of what falls below it.
   */
  set(workspaceId: string, threshold: Units | null, at: Date): Promise<void>
  /** Gives every workspace without a threshold of its own the service's. */
  setDefault(threshold: Units | null, at: Date): Promise<void>
}
