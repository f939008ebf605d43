import { and, eq, gt, lt } from 'drizzle-orm'
import type { Db } from '../../rows/dialect.ts'
import type { AccountTokenRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'
import type { StoreDialect } from './dialect.ts'
import { removeOldest } from './pages.ts'

/** Tokens in e-mails to owners, found by their hash. */
export function accountTokenStore(
  db: Db,
  { account_tokens: t, workspaces, users }: Tables,
  { locked }: StoreDialect,
) {
  const good = (tokenHash: string, purpose: AccountTokenRow['purpose'], now: Date) =>
    and(eq(t.token_hash, tokenHash), eq(t.purpose, purpose), gt(t.expires_at, now))

  async function end({
    workspace_id,
    purpose,
  }: Pick<AccountTokenRow, 'workspace_id' | 'purpose'>): Promise<void> {
    await db.delete(t).where(and(eq(t.workspace_id, workspace_id), eq(t.purpose, purpose)))
  }

  return {
    reads: {
      /** The workspace or user of a valid token; null for a token that does not exist or has expired. Uses nothing up. */
      async holderOf(
        tokenHash: string,
        purpose: AccountTokenRow['purpose'],
        now: Date,
      ): Promise<string | null> {
        const found = db
          .select({ id: t.workspace_id })
          .from(t)
          .where(good(tokenHash, purpose, now))
        return (await found)[0]?.id ?? null
      },
    },
    writes: {
      /**
       * Stores a token and ends the workspace's other tokens of that purpose. After simultaneous calls, one token is valid.
       */
      async issue(token: AccountTokenRow): Promise<void> {
        // Without the lock, one of two concurrent transactions would not see the other's row.
        const owner = db.select({ id: workspaces.id }).from(workspaces)
        await locked(owner.where(eq(workspaces.id, token.workspace_id)))
        const user = db.select({ id: users.id }).from(users)
        await locked(user.where(eq(users.id, token.workspace_id)))
        await end(token)
        await db.insert(t).values(token)
      },
      /** Uses up a valid token: returns its workspace to one caller, null to all others. */
      async take(
        tokenHash: string,
        purpose: AccountTokenRow['purpose'],
        now: Date,
      ): Promise<string | null> {
        const [taken] = await db
          .delete(t)
          .where(good(tokenHash, purpose, now))
          .returning({ workspace_id: t.workspace_id })
        return taken?.workspace_id ?? null
      },
      /** Ends the workspace's tokens of that purpose. */
      end,
      /** Removes about `limit` tokens that expired before `before`; returns their number. */
      async forget(before: Date, limit: number): Promise<number> {
        const condition = lt(t.expires_at, before)
        return removeOldest(db, { from: t, by: t.expires_at, condition }, limit)
      },
    },
  }
}
