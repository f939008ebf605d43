import { and, asc, desc, eq, inArray, lte } from 'drizzle-orm'
import type { Slice } from '../../contract/endpoints/paging.ts'
import type { DomainStatus } from '../../contract/resources/domains.ts'
import { type Db, rowCount } from '../../rows/dialect.ts'
import type { SendingDomainRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'

import { isBelow, type StoreDialect } from './queries.ts'

/** The columns of a sending domain that change. */
export type SendingDomainChange = Partial<
  Omit<SendingDomainRow, 'workspace_id' | 'id' | 'domain' | 'created_at'>
>

export function sendingDomainStore(
  db: Db,
  { sending_domains: t, domain_claims: claims }: Tables,
  { locked }: Pick<StoreDialect, 'locked'>,
) {
  const mine = (workspaceId: string, domainId: string) =>
    and(eq(t.workspace_id, workspaceId), eq(t.id, domainId))
  const claimOf = (workspaceId: string, domainId: string) =>
    and(eq(claims.workspace_id, workspaceId), eq(claims.domain_id, domainId))
  return {
    reads: {
      async byId(workspaceId: string, domainId: string): Promise<SendingDomainRow | null> {
        return (await db.select().from(t).where(mine(workspaceId, domainId)))[0] ?? null
      },
      async byName(workspaceId: string, domain: string): Promise<SendingDomainRow | null> {
        const one = and(eq(t.workspace_id, workspaceId), eq(t.domain, domain))
        return (await db.select().from(t).where(one))[0] ?? null
      },
      /** Returns the newest first. */
      async list(
        workspaceId: string,
        { limit, offset, after }: Slice,
      ): Promise<SendingDomainRow[]> {
        const own = and(eq(t.workspace_id, workspaceId), isBelow(t.id, after))
        return db.select().from(t).where(own).orderBy(desc(t.id)).limit(limit).offset(offset)
      },
      async count(workspaceId: string): Promise<number> {
        const own = db.select({ n: rowCount }).from(t).where(eq(t.workspace_id, workspaceId))
        return (await own)[0]?.n ?? 0
      },
      /** Domains of all workspaces whose check is due, the most overdue first. */
      async due(
        now: Date,
        limit: number,
      ): Promise<Pick<SendingDomainRow, 'workspace_id' | 'id' | 'check_due_at'>[]> {
        const { workspace_id, id, check_due_at } = t
        const found = db.select({ workspace_id, id, check_due_at }).from(t)
        return found.where(lte(check_due_at, now)).orderBy(asc(check_due_at)).limit(limit)
      },
      /** Domains of all workspaces with one of these statuses, for the operator. */
      async ofAll(statuses: readonly DomainStatus[], limit: number): Promise<SendingDomainRow[]> {
        const found = db
          .select()
          .from(t)
          .where(inArray(t.status, [...statuses]))
        return found.orderBy(asc(t.workspace_id), asc(t.id)).limit(limit)
      },
    },
    writes: {
      async insert(domain: SendingDomainRow): Promise<void> {
        await db.insert(t).values(domain)
      },
      /** The domain, locked until the transaction ends. */
      async lock(workspaceId: string, domainId: string): Promise<SendingDomainRow | null> {
        return (await locked(db.select().from(t).where(mine(workspaceId, domainId))))[0] ?? null
      },
      async change(
        workspaceId: string,
        domainId: string,
        change: SendingDomainChange,
      ): Promise<void> {
        await db.update(t).set(change).where(mine(workspaceId, domainId))
      },
      /** Removes the domain and its claim. Returns false when there is no such domain. */
      async remove(workspaceId: string, domainId: string): Promise<boolean> {
        await db.delete(claims).where(claimOf(workspaceId, domainId))
        const removed = db.delete(t).where(mine(workspaceId, domainId)).returning({ id: t.id })
        return (await removed).length === 1
      },
      /** Claims the name of the domain; false if another domain holds it. */
      async claim(
        { workspace_id, id, domain }: Pick<SendingDomainRow, 'workspace_id' | 'id' | 'domain'>,
        at: Date,
      ): Promise<boolean> {
        const claim = { domain, workspace_id, domain_id: id, claimed_at: at }
        await db.insert(claims).values(claim).onConflictDoNothing({ target: claims.domain })
        const [held] = await db.select().from(claims).where(eq(claims.domain, domain))
        return held?.workspace_id === workspace_id && held.domain_id === id
      },
      async release(workspaceId: string, domainId: string): Promise<void> {
        await db.delete(claims).where(claimOf(workspaceId, domainId))
      },
    },
  }
}
