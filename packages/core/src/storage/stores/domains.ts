import { and, asc, desc, eq, inArray, lte } from 'drizzle-orm'
import { type Db, rowCount } from '../../rows/dialect.ts'
import type { Tables } from '../../rows/tables.ts'
import type { SendingDomainReads, SendingDomainWrites } from '../ports/domains.ts'
import type { StoreDialect } from './dialect.ts'
import { isBelow } from './pages.ts'

export function sendingDomainStore(
  db: Db,
  { sending_domains: t, domain_claims: claims }: Tables,
  { locked }: Pick<StoreDialect, 'locked'>,
): SendingDomainReads & SendingDomainWrites {
  const mine = (workspaceId: string, domainId: string) =>
    and(eq(t.workspace_id, workspaceId), eq(t.id, domainId))
  const claimOf = (workspaceId: string, domainId: string) =>
    and(eq(claims.workspace_id, workspaceId), eq(claims.domain_id, domainId))
  return {
    async byId(workspaceId, domainId) {
      return (await db.select().from(t).where(mine(workspaceId, domainId)))[0] ?? null
    },
    async byName(workspaceId, domain) {
      const one = and(eq(t.workspace_id, workspaceId), eq(t.domain, domain))
      return (await db.select().from(t).where(one))[0] ?? null
    },
    async list(workspaceId, { limit, offset, after }) {
      const own = and(eq(t.workspace_id, workspaceId), isBelow(t.id, after))
      return db.select().from(t).where(own).orderBy(desc(t.id)).limit(limit).offset(offset)
    },
    async count(workspaceId) {
      const own = db.select({ n: rowCount }).from(t).where(eq(t.workspace_id, workspaceId))
      return (await own)[0]?.n ?? 0
    },
    async due(now, limit) {
      const { workspace_id, id, check_due_at } = t
      const found = db.select({ workspace_id, id, check_due_at }).from(t)
      return found.where(lte(check_due_at, now)).orderBy(asc(check_due_at)).limit(limit)
    },
    async ofAll(statuses, limit) {
      const found = db
        .select()
        .from(t)
        .where(inArray(t.status, [...statuses]))
      return found.orderBy(asc(t.workspace_id), asc(t.id)).limit(limit)
    },
    async insert(domain) {
      await db.insert(t).values(domain)
    },
    async lock(workspaceId, domainId) {
      return (await locked(db.select().from(t).where(mine(workspaceId, domainId))))[0] ?? null
    },
    async change(workspaceId, domainId, change) {
      await db.update(t).set(change).where(mine(workspaceId, domainId))
    },
    async remove(workspaceId, domainId) {
      await db.delete(claims).where(claimOf(workspaceId, domainId))
      const removed = db.delete(t).where(mine(workspaceId, domainId)).returning({ id: t.id })
      return (await removed).length === 1
    },
    async claim({ workspace_id, id, domain }, at) {
      const claim = { domain, workspace_id, domain_id: id, claimed_at: at }
      await db.insert(claims).values(claim).onConflictDoNothing({ target: claims.domain })
      const [held] = await db.select().from(claims).where(eq(claims.domain, domain))
      return held?.workspace_id === workspace_id && held.domain_id === id
    },
    async release(workspaceId, domainId) {
      await db.delete(claims).where(claimOf(workspaceId, domainId))
    },
  }
}
