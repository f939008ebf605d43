import type { Slice } from '../../contract/endpoints/paging.ts'
import type { Units } from '../../contract/fields/units.ts'
import type { ApiKeyRow, TestUsageRow } from '../../rows/rows.ts'
import type { Sealed } from '../../rows/sealed.ts'

export interface ApiKeyReads {
  /** Returns the newest first. */
  list(workspaceId: string, page: Slice): Promise<ApiKeyRow[]>
  count(workspaceId: string): Promise<number>
  /** The encrypted key, for a key that signs; null for every other key. */
  sealedKey(workspaceId: string, keyId: string): Promise<Sealed | null>
  /** The amount that a key with a daily limit has spent on a day (UTC, `2026-05-04`). Refunds are not subtracted. */
  spentOn(workspaceId: string, of: { api_key_id: string; day: string }): Promise<Units>
  /** The use of the workspace's test keys on the last day on which they sent; null before the first use. */
  testUsage(workspaceId: string): Promise<TestUsageRow | null>
}

export interface ApiKeyWrites {
  /** Whether the workspace has this key and the key is active. */
  isActive(workspaceId: string, keyId: string): Promise<boolean>
  /** The number of keys that are neither deactivated nor expired. The number is exact while the workspace is locked. */
  countActive(workspaceId: string, now: Date): Promise<number>
  insert(key: ApiKeyRow): Promise<void>
  /** Also removes the encrypted key. Returns false when the workspace has no such key. Deactivating twice is not an error. */
  deactivate(workspaceId: string, keyId: string): Promise<boolean>
  /** Deactivates every active key, and removes the encrypted keys of the workspace; returns their number. */
  deactivateAll(workspaceId: string): Promise<number>
  /** Moves `last_used_at` forward, never back. */
  touch(uses: readonly { workspace_id: string; id: string; at: Date }[]): Promise<void>
}
