import { and, eq } from 'drizzle-orm'
import type { Db } from '../../rows/dialect.ts'
import type { Tables } from '../../rows/tables.ts'
import type { IdempotencyRecord } from '../../rules/accept.ts'

/** Responses to requests with an `Idempotency-Key`, of routes that do not use `hot`. */
export function idempotencyStore(db: Db, { idempotency_keys: t }: Tables) {
  const mine = (workspaceId: string, { route, key }: { route: string; key: string }) =>
    and(eq(t.workspace_id, workspaceId), eq(t.route, route), eq(t.key, key))
  return {
    reads: {
      async byKey(
        workspaceId: string,
        request: Pick<IdempotencyRecord, 'route' | 'key'>,
      ): Promise<Pick<IdempotencyRecord, 'request_hash' | 'response'> | null> {
        const [row] = await db
          .select({ request_hash: t.request_hash, response: t.response })
          .from(t)
          .where(mine(workspaceId, request))
        return row ?? null
      },
    },
    writes: {
      /** Stores the response, unless this route and key have one; returns whether it was stored. */
      async keepFirst(workspaceId: string, answer: IdempotencyRecord, at: Date): Promise<boolean> {
        const kept = await db
          .insert(t)
          .values({ ...answer, workspace_id: workspaceId, created_at: at })
          .onConflictDoNothing({ target: [t.workspace_id, t.route, t.key] })
          .returning({ key: t.key })
        return kept.length === 1
      },
      /** Removes a response, so that the key can be used again. */
      async forget(
        workspaceId: string,
        request: Pick<IdempotencyRecord, 'route' | 'key'>,
      ): Promise<void> {
        await db.delete(t).where(mine(workspaceId, request))
      },
    },
  }
}
