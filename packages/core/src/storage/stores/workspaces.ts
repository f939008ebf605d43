import { asc, eq } from 'drizzle-orm'
import type { WorkspaceReads, WorkspaceWrites } from '../../workspaces/store.ts'
import type { Db } from '../dialect.ts'
import type { Tables } from '../tables.ts'

export function workspaceStore(
  db: Db,
  { workspaces: t }: Tables,
): WorkspaceReads & WorkspaceWrites {
  return {
    async byId(workspaceId) {
      const [row] = await db.select().from(t).where(eq(t.id, workspaceId))
      return row ?? null
    },
    async byEmail(email) {
      const [row] = await db.select().from(t).where(eq(t.email_key, email.toLowerCase()))
      return row ?? null
    },
    async list({ limit, offset }) {
      return db.select().from(t).orderBy(asc(t.id)).limit(limit).offset(offset)
    },
    async insert(workspace) {
      const inserted = await db
        .insert(t)
        .values(workspace)
        .onConflictDoNothing({ target: t.email_key })
        .returning({ id: t.id })
      return inserted.length === 1
    },
  }
}
