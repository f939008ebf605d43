import { and, desc, eq, gt, lt, notInArray, sql } from 'drizzle-orm'
import { LIMITS } from '../../contract/limits.ts'
import type { Db } from '../../rows/dialect.ts'
import type { Tables } from '../../rows/tables.ts'
import type { SessionReads, SessionWrites } from '../ports/workspaces.ts'
import { removeOldest } from './pages.ts'

export function sessionStore(
  db: Db,
  { ended_sessions: t, sessions: listed, workspaces, users, members }: Tables,
): SessionReads & SessionWrites {
  return {
    async byHash({ user_id, session_hash, workspace_id }) {
      const owner = db
        .select({ owner_version: workspaces.token_version })
        .from(workspaces)
        .where(eq(workspaces.id, user_id))
        .as('owner_login')
      const ended = and(eq(t.workspace_id, user_id), eq(t.session_hash, session_hash))
      const same = and(eq(listed.user_id, user_id), eq(listed.session_hash, session_hash))
      const member = and(eq(members.workspace_id, workspaces.id), eq(members.user_id, user_id))
      const [row] = await db
        .select({
          owner_version: owner.owner_version,
          user_version: users.token_version,
          ended: t.session_hash,
          role: members.role,
          id: listed.id,
          last_seen_at: listed.last_seen_at,
        })
        .from(workspaces)
        .leftJoin(owner, sql`true`)
        .leftJoin(users, eq(users.id, user_id))
        .leftJoin(members, member)
        .leftJoin(t, ended)
        .leftJoin(listed, same)
        .where(eq(workspaces.id, workspace_id))
      const token_version = row?.owner_version ?? row?.user_version ?? null
      if (!row || token_version === null) return null
      const { id, last_seen_at } = row
      return {
        token_version,
        is_ended: row.ended !== null,
        role: user_id === workspace_id ? 'owner' : row.role,
        listed: id !== null && last_seen_at !== null ? { id, last_seen_at } : null,
      }
    },
    async list(userId, now) {
      const own = and(eq(listed.user_id, userId), gt(listed.ends_at, now))
      return db.select().from(listed).where(own).orderBy(desc(listed.id))
    },
    async begin(session) {
      await db.insert(listed).values(session)
      const own = eq(listed.user_id, session.user_id)
      const newest = db
        .select({ id: listed.id })
        .from(listed)
        .where(own)
        .orderBy(desc(listed.id))
        .limit(LIMITS.sessions)
      await db.delete(listed).where(and(own, notInArray(listed.id, newest)))
    },
    async end(session) {
      const { workspace_id: user_id, session_hash } = session
      await db
        .delete(listed)
        .where(and(eq(listed.user_id, user_id), eq(listed.session_hash, session_hash)))
      const ended = await db
        .insert(t)
        .values(session)
        .onConflictDoNothing()
        .returning({ hash: t.session_hash })
      return ended.length === 1
    },
    async clear(userId, workspaceId) {
      const there = workspaceId === undefined ? undefined : eq(listed.workspace_id, workspaceId)
      await db.delete(listed).where(and(eq(listed.user_id, userId), there))
    },
    async touch(uses) {
      for (const { user_id, id, last_seen_at } of uses) {
        const older = lt(listed.last_seen_at, last_seen_at)
        await db
          .update(listed)
          .set({ last_seen_at })
          .where(and(eq(listed.user_id, user_id), eq(listed.id, id), older))
      }
    },
    async forget(before, limit) {
      const condition = lt(t.ends_at, before)
      const removed = await removeOldest(db, { from: t, by: t.ends_at, condition }, limit)
      const expired = { from: listed, by: listed.ends_at, condition: lt(listed.ends_at, before) }
      return Math.max(removed, await removeOldest(db, expired, limit))
    },
  }
}
