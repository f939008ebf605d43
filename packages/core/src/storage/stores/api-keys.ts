import { and, desc, eq, gt, isNull, lt, or, sql } from 'drizzle-orm'
import { units } from '../../contract/fields/units.ts'
import { type Db, rowCount } from '../../rows/dialect.ts'
import type { Tables } from '../../rows/tables.ts'
import type { ApiKeyReads, ApiKeyWrites } from '../ports/api-keys.ts'
import { isBelow } from './pages.ts'

export function apiKeyStore(
  db: Db,
  { api_keys: t, api_key_spending: spending, test_usage }: Tables,
): ApiKeyReads & ApiKeyWrites {
  return {
    async list(workspaceId, { limit, offset, after }) {
      const own = and(eq(t.workspace_id, workspaceId), isBelow(t.id, after))
      const mine = db.select().from(t).where(own)
      return mine.orderBy(desc(t.id)).limit(limit).offset(offset)
    },
    async count(workspaceId) {
      const mine = db.select({ n: rowCount }).from(t).where(eq(t.workspace_id, workspaceId))
      return (await mine)[0]?.n ?? 0
    },
    async sealedKey(workspaceId, keyId) {
      const one = and(eq(t.workspace_id, workspaceId), eq(t.id, keyId))
      const found = db.select({ sealed_key: t.sealed_key }).from(t).where(one)
      return (await found)[0]?.sealed_key ?? null
    },
    async spentOn(workspaceId, { api_key_id, day }) {
      const that = and(
        eq(spending.workspace_id, workspaceId),
        eq(spending.api_key_id, api_key_id),
        eq(spending.day, day),
      )
      const [row] = await db.select({ spent: spending.spent }).from(spending).where(that)
      return row?.spent ?? units(0)
    },
    async testUsage(workspaceId) {
      const mine = eq(test_usage.workspace_id, workspaceId)
      return (await db.select().from(test_usage).where(mine))[0] ?? null
    },
    async countActive(workspaceId, now) {
      const lasting = or(isNull(t.expires_at), gt(t.expires_at, now))
      // The condition has the same text as in the index, because SQLite compares the text.
      const active = and(eq(t.workspace_id, workspaceId), sql`${t.is_active}`, lasting)
      return (await db.select({ n: rowCount }).from(t).where(active))[0]?.n ?? 0
    },
    async isActive(workspaceId, keyId) {
      const one = and(eq(t.workspace_id, workspaceId), eq(t.id, keyId), eq(t.is_active, true))
      return (await db.select({ id: t.id }).from(t).where(one)).length === 1
    },
    async insert(key) {
      await db.insert(t).values(key)
    },
    async deactivate(workspaceId, keyId) {
      const changed = await db
        .update(t)
        .set({ is_active: false, sealed_key: null })
        .where(and(eq(t.workspace_id, workspaceId), eq(t.id, keyId)))
        .returning({ id: t.id })
      return changed.length === 1
    },
    async deactivateAll(workspaceId) {
      const changed = await db
        .update(t)
        .set({ is_active: false, sealed_key: null })
        .where(and(eq(t.workspace_id, workspaceId), eq(t.is_active, true)))
        .returning({ id: t.id })
      return changed.length
    },
    async touch(uses) {
      for (const { workspace_id, id, at } of uses) {
        const older = or(isNull(t.last_used_at), lt(t.last_used_at, at))
        await db
          .update(t)
          .set({ last_used_at: at })
          .where(and(eq(t.workspace_id, workspace_id), eq(t.id, id), older))
      }
    },
  }
}
