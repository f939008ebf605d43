import { and, asc, eq, gt, inArray, sql } from 'drizzle-orm'
import { type Db, rowCount } from '../../rows/dialect.ts'
import type { Tables } from '../../rows/tables.ts'
import type { MemberReads, MemberWrites } from '../ports/members.ts'

export function memberStore(
  db: Db,
  { members: t, users, workspaces }: Tables,
): MemberReads & MemberWrites {
  const one = (workspaceId: string, userId: string) =>
    and(eq(t.workspace_id, workspaceId), eq(t.user_id, userId))

  return {
    async byId(workspaceId, userId) {
      const [row] = await db.select().from(t).where(one(workspaceId, userId))
      return row ?? null
    },
    async list(workspaceId) {
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
    async count(workspaceId) {
      const mine = db.select({ n: rowCount }).from(t).where(eq(t.workspace_id, workspaceId))
      return (await mine)[0]?.n ?? 0
    },
    async invitedBy(workspaceId, logins, since) {
      const invited = and(inArray(t.invited_by, [...logins]), gt(t.invited_at, since))
      return db
        .select()
        .from(t)
        .where(and(eq(t.workspace_id, workspaceId), invited))
    },
    async ofUser(userId) {
      const found = await db
        .select({ member: t, name: workspaces.name })
        .from(t)
        .innerJoin(workspaces, eq(workspaces.id, t.workspace_id))
        .where(eq(t.user_id, userId))
        .orderBy(asc(t.created_at), asc(t.workspace_id))
      return found.map(({ member, name }) => ({ ...member, name }))
    },
    async add(member) {
      const added = await db
        .insert(t)
        .values(member)
        .onConflictDoNothing()
        .returning({ id: t.user_id })
      return added.length === 1
    },
    async change(workspaceId, userId, change) {
      const changed = await db
        .update(t)
        .set(change)
        .where(one(workspaceId, userId))
        .returning({ id: t.user_id })
      return changed.length === 1
    },
    async remove(workspaceId, userId) {
      const removed = await db
        .delete(t)
        .where(one(workspaceId, userId))
        .returning({ id: t.user_id })
      return removed.length === 1
    },
  }
}
