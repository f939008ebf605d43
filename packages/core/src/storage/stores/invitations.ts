import { and, asc, eq, gt, lt } from 'drizzle-orm'
import { emailKey } from '../../contract/fields/email-address.ts'
import type { Db } from '../../rows/dialect.ts'
import type { InvitationRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'
import type { StoreDialect } from './dialect.ts'
import { removeOldest } from './pages.ts'

/** Invitations, found by workspace, by address, or by the hash of their token. */
export function invitationStore(
  db: Db,
  { invitations: t }: Tables,
  { locked }: Pick<StoreDialect, 'locked'>,
) {
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
      /** Waits for transactions that accept an invitation to this address. */
      async lockAddress(email: string): Promise<void> {
        await locked(
          db
            .select({ id: t.id })
            .from(t)
            .where(eq(t.email_key, emailKey(email))),
        )
      },
      /** Removes about `limit` invitations that expired before `before`; returns their number. */
      async forget(before: Date, limit: number): Promise<number> {
        const condition = lt(t.expires_at, before)
        return removeOldest(db, { from: t, by: t.expires_at, condition }, limit)
      },
    },
  }
}
