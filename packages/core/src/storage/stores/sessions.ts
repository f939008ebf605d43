import { and, desc, eq, gt, lt, notInArray, sql } from 'drizzle-orm'
import { LIMITS } from '../../contract/limits.ts'
import type { Db } from '../../rows/dialect.ts'
import type { EndedSessionRow, MemberRow, SessionRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'
import { removeOldest } from './pages.ts'

/** The validity of a session and the role of its login in a workspace. */
export interface SessionFacts {
  /** The current token version of the login. */
  token_version: number
  is_ended: boolean
  /** The role in the workspace; null for a login that is no member. */
  role: 'owner' | MemberRow['role'] | null
  /** The id and last use of the session in the list of sessions; null for a session that is not in the list. */
  listed: Pick<SessionRow, 'id' | 'last_seen_at'> | null
}

/** Sessions, found by their login and the hash of their token. */
export function sessionStore(
  db: Db,
  { ended_sessions: t, sessions: listed, workspaces, users, members }: Tables,
) {
  return {
    reads: {
      /** The facts that decide what a session may do in a workspace, in one query; null without such a login or workspace. */
      async byHash({
        user_id,
        session_hash,
        workspace_id,
      }: {
        user_id: string
        session_hash: string
        workspace_id: string
      }): Promise<SessionFacts | null> {
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
      /** The listed sessions of a login, newest first. */
      async list(userId: string, now: Date): Promise<SessionRow[]> {
        const own = and(eq(listed.user_id, userId), gt(listed.ends_at, now))
        return db.select().from(listed).where(own).orderBy(desc(listed.id))
      },
    },
    writes: {
      /** Adds a session to the list of its login, and keeps the newest `LIMITS.sessions` in the list. */
      async begin(session: SessionRow): Promise<void> {
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
      /** Ends one session. Returns false if the session had already ended. */
      async end(session: EndedSessionRow): Promise<boolean> {
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
      /** Removes the sessions of a login from the list; with `workspaceId`, only those that began in this workspace. */
      async clear(userId: string, workspaceId?: string): Promise<void> {
        const there = workspaceId === undefined ? undefined : eq(listed.workspace_id, workspaceId)
        await db.delete(listed).where(and(eq(listed.user_id, userId), there))
      },
      /** Moves `last_seen_at` forward, never back. */
      async touch(
        uses: readonly Pick<SessionRow, 'user_id' | 'id' | 'last_seen_at'>[],
      ): Promise<void> {
        for (const { user_id, id, last_seen_at } of uses) {
          const older = lt(listed.last_seen_at, last_seen_at)
          await db
            .update(listed)
            .set({ last_seen_at })
            .where(and(eq(listed.user_id, user_id), eq(listed.id, id), older))
        }
      },
      /** Removes about `limit` sessions whose tokens expired before `before`; returns their number. */
      async forget(before: Date, limit: number): Promise<number> {
        const condition = lt(t.ends_at, before)
        const removed = await removeOldest(db, { from: t, by: t.ends_at, condition }, limit)
        const expired = { from: listed, by: listed.ends_at, condition: lt(listed.ends_at, before) }
        return Math.max(removed, await removeOldest(db, expired, limit))
      },
    },
  }
}
