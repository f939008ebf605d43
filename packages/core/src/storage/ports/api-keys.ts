import type { Units } from '../../contract/fields/units.ts'
import type { ApiKeyRow, TestUsageRow } from '../../rows/rows.ts'

export interface ApiKeyReads {
  /** Newest first. */
  list(workspaceId: string, page: { limit: number; offset: number }): Promise<ApiKeyRow[]>
  count(workspaceId: string): Promise<number>
  /** What a key with a daily limit has spent on a day (UTC, `2026-05-04`), refunds not taken off. */
  spentOn(workspaceId: string, of: { api_key_id: string; day: string }): Promise<Units>
  /** What the workspace's test keys used on the last day on which they sent something; null for nothing yet. */
  testUsage(workspaceId: string): Promise<TestUsageRow | null>
}

export interface ApiKeyWrites {
  /** Whether the workspace has such a key and it is not deactivated. */
  isActive(workspaceId: string, keyId: string): Promise<boolean>
  /** How many keys are neither deactivated nor expired. Exact while the workspace is locked. */
  countActive(workspaceId: string, now: Date): Promise<number>
  insert(key: ApiKeyRow): Promise<void>
  /** Answers false when the workspace has no such key. Deactivating twice is no error. */
  deactivate(workspaceId: string, keyId: string): Promise<boolean>
  /** Deactivates every active key of the workspace; says how many. */
  deactivateAll(workspaceId: string): Promise<number>
  /** Moves `last_used_at` forward, never back. */
  touch(uses: readonly { workspace_id: string; id: string; at: Date }[]): Promise<void>
}
