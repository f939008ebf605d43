import { and, eq, gt, lt } from 'drizzle-orm'
import type { Db } from '../../rows/dialect.ts'
import type { AccountTokenRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'
import type { AccountTokenReads, AccountTokenWrites } from '../ports/workspaces.ts'
import type { StoreDialect } from './dialect.ts'
import { removeOldest } from './pages.ts'

export function accountTokenStore(
  db: Db,
  { account_tokens: t, workspaces, users }: Tables,
  { locked }: StoreDialect,
): AccountTokenReads & AccountTokenWrites {
  const good = (tokenHash: string, purpose: AccountTokenRow['purpose'], now: Date) =>
    and(eq(t.token_hash, tokenHash), eq(t.purpose, purpose), gt(t.expires_at, now))

  async function end({
    workspace_id,
    purpose,
  }: Pick<AccountTokenRow, 'workspace_id' | 'purpose'>): Promise<void> {
    await db.delete(t).where(and(eq(t.workspace_id, workspace_id), eq(t.purpose, purpose)))
  }

  return {
    async holderOf(tokenHash, purpose, now) {
      const found = db
        .select({ id: t.workspace_id })
        .from(t)
        .where(good(tokenHash, purpose, now))
      return (await found)[0]?.id ?? null
    },
    async issue(token) {
      // Without the lock, one of two concurrent transactions would not see the other's row.
      const owner = db.select({ id: workspaces.id }).from(workspaces)
      await locked(owner.where(eq(workspaces.id, token.workspace_id)))
      const user = db.select({ id: users.id }).from(users)
      await locked(user.where(eq(users.id, token.workspace_id)))
      await end(token)
      await db.insert(t).values(token)
    },
    async take(tokenHash, purpose, now) {
      const [taken] = await db
        .delete(t)
        .where(good(tokenHash, purpose, now))
        .returning({ workspace_id: t.workspace_id })
      return taken?.workspace_id ?? null
    },
    end,
    async forget(before, limit) {
      const condition = lt(t.expires_at, before)
      return removeOldest(db, { from: t, by: t.expires_at, condition }, limit)
    },
  }
}
