import { and, asc, eq, gt, inArray, lt, sql } from 'drizzle-orm'
import { type Db, rowCount } from '../../rows/dialect.ts'
import type { InvitationRow, MemberRow, SavedFilterRow, UserRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'

import { removeOldest, type StoreDialect } from './queries.ts'

/** A member of a workspace with the data of the login. */
export type MemberWithLogin = Pick<MemberRow, 'user_id' | 'role' | 'created_at'> &
  Pick<UserRow, 'email' | 'name'>

export function memberStore(db: Db, { members: t, users, workspaces }: Tables) {
  const one = (workspaceId: string, userId: string) =>
    and(eq(t.workspace_id, workspaceId), eq(t.user_id, userId))

  return {
    reads: {
      async byId(workspaceId: string, userId: string): Promise<MemberRow | null> {
        const [row] = await db.select().from(t).where(one(workspaceId, userId))
        return row ?? null
      },
      /** The members without the owner, oldest first. */
      async list(workspaceId: string): Promise<MemberWithLogin[]> {
        return db
          .select({
            user_id: t.user_id,
            role: t.role,
            created_at: t.created_at,
            email: sql<string>`coalesce(${users.email}, ${workspaces.email})`,
            name: sql<string | null>`coalesce(${users.name}, ${workspaces.owner_name})`,
          })
          .from(t)
          .leftJoin(users, eq(users.id, t.user_id))
          .leftJoin(workspaces, eq(workspaces.id, t.user_id))
          .where(eq(t.workspace_id, workspaceId))
          .orderBy(asc(t.created_at), asc(t.user_id))
      },
      async count(workspaceId: string): Promise<number> {
        const mine = db.select({ n: rowCount }).from(t).where(eq(t.workspace_id, workspaceId))
        return (await mine)[0]?.n ?? 0
      },
      /** The members whose invitations these logins sent after `since`. */
      async invitedBy(
        workspaceId: string,
        logins: readonly string[],
        since: Date,
      ): Promise<MemberRow[]> {
        const invited = and(inArray(t.invited_by, [...logins]), gt(t.invited_at, since))
        return db
          .select()
          .from(t)
          .where(and(eq(t.workspace_id, workspaceId), invited))
      },
      /** The workspaces in which a login is a member and not the owner, oldest membership first, with their names. */
      async ofUser(userId: string): Promise<(MemberRow & { name: string })[]> {
        const found = await db
          .select({ member: t, name: workspaces.name })
          .from(t)
          .innerJoin(workspaces, eq(workspaces.id, t.workspace_id))
          .where(eq(t.user_id, userId))
          .orderBy(asc(t.created_at), asc(t.workspace_id))
        return found.map(({ member, name }) => ({ ...member, name }))
      },
    },
    writes: {
      /** Adds a member. Returns false, and changes nothing, if the login is a member. */
      async add(member: MemberRow): Promise<boolean> {
        const added = await db
          .insert(t)
          .values(member)
          .onConflictDoNothing()
          .returning({ id: t.user_id })
        return added.length === 1
      },
      /** Returns false if the workspace has no such member. */
      async change(
        workspaceId: string,
        userId: string,
        change: Pick<MemberRow, 'role' | 'updated_at'>,
      ): Promise<boolean> {
        const changed = await db
          .update(t)
          .set(change)
          .where(one(workspaceId, userId))
          .returning({ id: t.user_id })
        return changed.length === 1
      },
      /** Returns false if the workspace has no such member. */
      async remove(workspaceId: string, userId: string): Promise<boolean> {
        const removed = await db
          .delete(t)
          .where(one(workspaceId, userId))
          .returning({ id: t.user_id })
        return removed.length === 1
      },
    },
  }
}

/** Invitations, found by workspace, by address, or by the hash of their token. */
export function invitationStore(db: Db, { invitations: t }: Tables) {
  const good = (tokenHash: string, now: Date) =>
    and(eq(t.token_hash, tokenHash), gt(t.expires_at, now))

  return {
    reads: {
      async list(workspaceId: string, now: Date): Promise<InvitationRow[]> {
        const open = and(eq(t.workspace_id, workspaceId), gt(t.expires_at, now))
        return db.select().from(t).where(open).orderBy(asc(t.id))
      },
      /** The invitation of a token that has not expired. */
      async byToken(tokenHash: string, now: Date): Promise<InvitationRow | null> {
        const [row] = await db.select().from(t).where(good(tokenHash, now))
        return row ?? null
      },
    },
    writes: {
      /** Stores an invitation in place of an earlier one to the same address. */
      async insert(invitation: InvitationRow): Promise<void> {
        const { workspace_id, email_key } = invitation
        const earlier = and(eq(t.workspace_id, workspace_id), eq(t.email_key, email_key))
        await db.delete(t).where(earlier)
        await db.insert(t).values(invitation)
      },
      /** Uses up the invitation of a valid token: returns it to one caller, null to all others. */
      async take(tokenHash: string, now: Date): Promise<InvitationRow | null> {
        const [row] = await db.delete(t).where(good(tokenHash, now)).returning()
        return row ?? null
      },
      /** Returns false if the workspace has no such invitation. */
      async remove(workspaceId: string, invitationId: string): Promise<boolean> {
        const removed = await db
          .delete(t)
          .where(and(eq(t.workspace_id, workspaceId), eq(t.id, invitationId)))
          .returning({ id: t.id })
        return removed.length === 1
      },
      /** Removes about `limit` invitations that expired before `before`; returns their number. */
      async forget(before: Date, limit: number): Promise<number> {
        const condition = lt(t.expires_at, before)
        return removeOldest(db, { from: t, by: t.expires_at, condition }, limit)
      },
    },
  }
}

/** The saved filters of people. */
export function savedFilterStore(
  db: Db,
  { saved_filters: t }: Tables,
  { hold }: Pick<StoreDialect, 'hold'>,
) {
  const ofPerson = (workspaceId: string, userId: string) =>
    and(eq(t.workspace_id, workspaceId), eq(t.user_id, userId))
  type Key = Pick<SavedFilterRow, 'workspace_id' | 'user_id' | 'id'>
  const one = ({ workspace_id, user_id, id }: Key) =>
    and(ofPerson(workspace_id, user_id), eq(t.id, id))
  return {
    reads: {
      /** The filters of a person in a workspace, oldest first. */
      async list(workspaceId: string, userId: string): Promise<SavedFilterRow[]> {
        const mine = db.select().from(t).where(ofPerson(workspaceId, userId))
        return mine.orderBy(asc(t.id))
      },
    },
    writes: {
      /**
       * Locks the filters of a person until the transaction ends, so that what it reads of them stays true. A person of an
       * embedding program has no row to lock.
       */
      async lock(workspaceId: string, userId: string): Promise<void> {
        await hold(db, `saved filters ${workspaceId} ${userId}`)
      },
      async insert(filter: SavedFilterRow): Promise<void> {
        await db.insert(t).values(filter)
      },
      /** Returns false if the person has no such filter. */
      async change(key: Key, change: Pick<SavedFilterRow, 'name' | 'filter'>): Promise<boolean> {
        const changed = db.update(t).set(change).where(one(key)).returning({ id: t.id })
        return (await changed).length === 1
      },
      /** Returns false if the person has no such filter. */
      async remove(key: Key): Promise<boolean> {
        return (await db.delete(t).where(one(key)).returning({ id: t.id })).length === 1
      },
      /** Removes all filters of a person in a workspace. */
      async clear(workspaceId: string, userId: string): Promise<void> {
        await db.delete(t).where(ofPerson(workspaceId, userId))
      },
    },
  }
}
