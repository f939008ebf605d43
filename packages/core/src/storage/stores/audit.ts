import { and, asc, desc, eq, gte, lt, lte, sql } from 'drizzle-orm'
import type { AuditFilter, AuditReads, AuditWrites } from '../../audit/store.ts'
import { idFloor } from '../../runtime.ts'
import { type Db, rowCount } from '../dialect.ts'
import type { Tables } from '../tables.ts'

export function auditStore(db: Db, { audit_entries: t }: Tables): AuditReads & AuditWrites {
  const matching = ({ action, from, until }: AuditFilter) =>
    and(
      action && eq(t.action, action),
      from && gte(t.created_at, from),
      until && lte(t.created_at, until),
    )

  return {
    async list(workspaceId, filter, { limit, offset }) {
      const own = and(eq(t.workspace_id, workspaceId), matching(filter))
      const found = db.select().from(t).where(own)
      return found.orderBy(desc(t.id)).limit(limit).offset(offset)
    },
    async count(workspaceId, filter) {
      const own = and(eq(t.workspace_id, workspaceId), matching(filter))
      return (await db.select({ n: rowCount }).from(t).where(own))[0]?.n ?? 0
    },
    async ofAll({ workspace_id, ...filter }, { limit, offset }) {
      const own = workspace_id === undefined ? undefined : eq(t.workspace_id, workspace_id)
      const found = db
        .select()
        .from(t)
        .where(and(own, matching(filter)))
      return found.orderBy(desc(t.id)).limit(limit).offset(offset)
    },
    async overfull(max) {
      const full = await db
        .select({ workspace_id: t.workspace_id })
        .from(t)
        .groupBy(t.workspace_id)
        .having(sql`count(*) > ${max}`)
      const found: { workspace_id: string; oldest_kept: string }[] = []
      for (const { workspace_id } of full) {
        const own = db.select({ id: t.id }).from(t).where(eq(t.workspace_id, workspace_id))
        const [kept] = await own
          .orderBy(desc(t.id))
          .limit(1)
          .offset(max - 1)
        if (kept) found.push({ workspace_id, oldest_kept: kept.id })
      }
      return found
    },
    async record(entry) {
      await db.insert(t).values(entry)
    },
    async forget(before, limit) {
      const ended = lt(t.id, idFloor(before))
      const oldest = db.select({ id: t.id }).from(t).where(ended).orderBy(asc(t.id))
      const [last] = await oldest.limit(1).offset(limit - 1)
      const some = last ? lte(t.id, last.id) : ended
      return (await db.delete(t).where(some).returning({ id: t.id })).length
    },
    async trim(workspaceId, oldestKept, limit) {
      const own = eq(t.workspace_id, workspaceId)
      const over = and(own, lt(t.id, oldestKept))
      const oldest = db.select({ id: t.id }).from(t).where(over).orderBy(asc(t.id))
      const [last] = await oldest.limit(1).offset(limit - 1)
      const some = last ? and(own, lte(t.id, last.id)) : over
      return (await db.delete(t).where(some).returning({ id: t.id })).length
    },
  }
}
