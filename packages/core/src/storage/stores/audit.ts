import { and, desc, eq, gte, lt, lte, ne, sql } from 'drizzle-orm'
import { type Db, rowCount } from '../../rows/dialect.ts'
import type { Tables } from '../../rows/tables.ts'
import { idFloor } from '../../runtime/runtime.ts'
import type { AuditFilter, AuditReads, AuditWrites, OverfullAudit } from '../ports/audit.ts'
import { isBelow, removeOldest } from './pages.ts'

export function auditStore(db: Db, { audit_entries: t }: Tables): AuditReads & AuditWrites {
  const matching = ({ action, from, until }: AuditFilter) =>
    and(
      action && eq(t.action, action),
      from && gte(t.created_at, from),
      until && lte(t.created_at, until),
    )

  return {
    async list(workspaceId, filter, { limit, offset, after }) {
      const own = and(eq(t.workspace_id, workspaceId), matching(filter), isBelow(t.id, after))
      const found = db.select().from(t).where(own)
      return found.orderBy(desc(t.id)).limit(limit).offset(offset)
    },
    async count(workspaceId, filter) {
      const own = and(eq(t.workspace_id, workspaceId), matching(filter))
      return (await db.select({ n: rowCount }).from(t).where(own))[0]?.n ?? 0
    },
    async ofAll({ workspace_id, ...filter }, { limit, offset, after }) {
      const own = workspace_id === undefined ? undefined : eq(t.workspace_id, workspace_id)
      const found = db
        .select()
        .from(t)
        .where(and(own, matching(filter), isBelow(t.id, after)))
      return found.orderBy(desc(t.id)).limit(limit).offset(offset)
    },
    async overfull(max) {
      const full = await db
        .select({ workspace_id: t.workspace_id, action: t.action })
        .from(t)
        .groupBy(t.workspace_id, t.action)
        .having(sql`count(*) > ${max}`)
      const found: OverfullAudit[] = []
      for (const { workspace_id, action } of full) {
        const own = and(eq(t.workspace_id, workspace_id), eq(t.action, action))
        const newest = db.select({ id: t.id }).from(t).where(own).orderBy(desc(t.id))
        const [kept] = await newest.limit(1).offset(max - 1)
        if (kept) found.push({ workspace_id, action, oldest_kept: kept.id })
      }
      return found
    },
    async record(entry) {
      await db.insert(t).values(entry)
    },
    async forget(before, limit) {
      // Entries about settings stay, because the next start compares the settings with the newest such entry.
      const condition = and(lt(t.id, idFloor(before)), ne(t.action, 'settings.changed'))
      return removeOldest(db, { from: t, by: t.id, condition }, limit)
    },
    async trim({ workspace_id, action, oldest_kept }, limit) {
      const own = and(eq(t.workspace_id, workspace_id), eq(t.action, action))
      const condition = and(own, lt(t.id, oldest_kept))
      return removeOldest(db, { from: t, by: t.id, condition }, limit)
    },
  }
}
