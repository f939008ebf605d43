import { and, eq } from 'drizzle-orm'
import type { Db } from '../../rows/dialect.ts'
import type { Tables } from '../../rows/tables.ts'
import type { IdempotencyReads, IdempotencyWrites } from '../ports/billing.ts'

export function idempotencyStore(
  db: Db,
  { idempotency_keys: t }: Tables,
): IdempotencyReads & IdempotencyWrites {
  const mine = (workspaceId: string, { route, key }: { route: string; key: string }) =>
    and(eq(t.workspace_id, workspaceId), eq(t.route, route), eq(t.key, key))
  return {
    async byKey(workspaceId, request) {
      const [row] = await db
        .select({ request_hash: t.request_hash, response: t.response })
        .from(t)
        .where(mine(workspaceId, request))
      return row ?? null
    },
    async keepFirst(workspaceId, answer, at) {
      const kept = await db
        .insert(t)
        .values({ ...answer, workspace_id: workspaceId, created_at: at })
        .onConflictDoNothing({ target: [t.workspace_id, t.route, t.key] })
        .returning({ key: t.key })
      return kept.length === 1
    },
    async forget(workspaceId, request) {
      await db.delete(t).where(mine(workspaceId, request))
    },
  }
}
