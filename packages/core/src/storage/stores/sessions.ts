import { and, eq, lt } from 'drizzle-orm'
import type { Db } from '../../rows/dialect.ts'
import type { Tables } from '../../rows/tables.ts'
import type { SessionReads, SessionWrites } from '../ports/workspaces.ts'
import { removeOldest } from './pages.ts'

export function sessionStore(
  db: Db,
  { ended_sessions: t, workspaces }: Tables,
): SessionReads & SessionWrites {
  return {
    async byHash(workspaceId, sessionHash) {
      const ended = and(eq(t.workspace_id, workspaces.id), eq(t.session_hash, sessionHash))
      const [row] = await db
        .select({ token_version: workspaces.token_version, ended: t.session_hash })
        .from(workspaces)
        .leftJoin(t, ended)
        .where(eq(workspaces.id, workspaceId))
      return row ? { token_version: row.token_version, is_ended: row.ended !== null } : null
    },
    async end(session) {
      const ended = await db
        .insert(t)
        .values(session)
        .onConflictDoNothing()
        .returning({ hash: t.session_hash })
      return ended.length === 1
    },
    async forget(before, limit) {
      const by = t.ends_at
      return removeOldest(db, { from: t, by, condition: lt(by, before) }, limit)
    },
  }
}
