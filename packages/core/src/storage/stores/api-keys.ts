import { and, desc, eq, gt, isNull, lt, or, sql } from 'drizzle-orm'
import type { Slice } from '../../contract/endpoints/paging.ts'
import { type Units, units } from '../../contract/fields/units.ts'
import { type Db, rowCount } from '../../rows/dialect.ts'
import type { ApiKeyRow, TestUsageRow } from '../../rows/rows.ts'
import type { Sealed } from '../../rows/sealed.ts'
import type { Tables } from '../../rows/tables.ts'

import { isBelow } from './queries.ts'

export function apiKeyStore(
  db: Db,
  { api_keys: t, api_key_spending: spending, test_usage }: Tables,
) {
  return {
    reads: {
      /** Returns the newest first. */
      async list(workspaceId: string, { limit, offset, after }: Slice): Promise<ApiKeyRow[]> {
        const own = and(eq(t.workspace_id, workspaceId), isBelow(t.id, after))
        const mine = db.select().from(t).where(own)
        return mine.orderBy(desc(t.id)).limit(limit).offset(offset)
      },
      async count(workspaceId: string): Promise<number> {
        const mine = db.select({ n: rowCount }).from(t).where(eq(t.workspace_id, workspaceId))
        return (await mine)[0]?.n ?? 0
      },
      async byId(workspaceId: string, keyId: string): Promise<ApiKeyRow | null> {
        const one = and(eq(t.workspace_id, workspaceId), eq(t.id, keyId))
        return (await db.select().from(t).where(one))[0] ?? null
      },
      /** The encrypted key, for a key that signs; null for every other key. */
      async sealedKey(workspaceId: string, keyId: string): Promise<Sealed | null> {
        const one = and(eq(t.workspace_id, workspaceId), eq(t.id, keyId))
        const found = db.select({ sealed_key: t.sealed_key }).from(t).where(one)
        return (await found)[0]?.sealed_key ?? null
      },
      /** The amount that a key with a daily limit has spent on a day (UTC, `2026-05-04`). Refunds are not subtracted. */
      async spentOn(
        workspaceId: string,
        { api_key_id, day }: { api_key_id: string; day: string },
      ): Promise<Units> {
        const that = and(
          eq(spending.workspace_id, workspaceId),
          eq(spending.api_key_id, api_key_id),
          eq(spending.day, day),
        )
        const [row] = await db.select({ spent: spending.spent }).from(spending).where(that)
        return row?.spent ?? units(0)
      },
      /** The use of the workspace's test keys on the last day on which they sent; null before the first use. */
      async testUsage(workspaceId: string): Promise<TestUsageRow | null> {
        const mine = eq(test_usage.workspace_id, workspaceId)
        return (await db.select().from(test_usage).where(mine))[0] ?? null
      },
    },
    writes: {
      /** The number of keys that are neither deactivated nor expired. The number is exact while the workspace is locked. */
      async countActive(workspaceId: string, now: Date): Promise<number> {
        const lasting = or(isNull(t.expires_at), gt(t.expires_at, now))
        // The condition has the same text as in the index, because SQLite compares the text.
        const active = and(eq(t.workspace_id, workspaceId), sql`${t.is_active}`, lasting)
        return (await db.select({ n: rowCount }).from(t).where(active))[0]?.n ?? 0
      },
      /** Whether the workspace has this key and the key is active. */
      async isActive(workspaceId: string, keyId: string): Promise<boolean> {
        const one = and(eq(t.workspace_id, workspaceId), eq(t.id, keyId), eq(t.is_active, true))
        return (await db.select({ id: t.id }).from(t).where(one)).length === 1
      },
      async insert(key: ApiKeyRow): Promise<void> {
        await db.insert(t).values(key)
      },
      /** Also removes the encrypted key. Returns false when the workspace has no such key. Deactivating twice is not an error. */
      async deactivate(workspaceId: string, keyId: string): Promise<boolean> {
        const changed = await db
          .update(t)
          .set({ is_active: false, sealed_key: null })
          .where(and(eq(t.workspace_id, workspaceId), eq(t.id, keyId)))
          .returning({ id: t.id })
        return changed.length === 1
      },
      /** Deactivates every active key, and removes the encrypted keys of the workspace; returns their number. */
      async deactivateAll(workspaceId: string): Promise<number> {
        const changed = await db
          .update(t)
          .set({ is_active: false, sealed_key: null })
          .where(and(eq(t.workspace_id, workspaceId), eq(t.is_active, true)))
          .returning({ id: t.id })
        return changed.length
      },
      /** Moves `last_used_at` forward, never back. */
      async touch(uses: readonly { workspace_id: string; id: string; at: Date }[]): Promise<void> {
        for (const { workspace_id, id, at } of uses) {
          const older = or(isNull(t.last_used_at), lt(t.last_used_at, at))
          await db
            .update(t)
            .set({ last_used_at: at })
            .where(and(eq(t.workspace_id, workspace_id), eq(t.id, id), older))
        }
      },
    },
  }
}
