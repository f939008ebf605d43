import { and, asc, eq, gt, lt } from 'drizzle-orm'
import { emailKey } from '../../contract/fields/email-address.ts'
import type { Db } from '../../rows/dialect.ts'
import type { Tables } from '../../rows/tables.ts'
import type { InvitationReads, InvitationWrites } from '../ports/members.ts'
import type { StoreDialect } from './dialect.ts'
import { removeOldest } from './pages.ts'

export function invitationStore(
  db: Db,
  { invitations: t }: Tables,
  { locked }: Pick<StoreDialect, 'locked'>,
): InvitationReads & InvitationWrites {
  const good = (tokenHash: string, now: Date) =>
    and(eq(t.token_hash, tokenHash), gt(t.expires_at, now))

  return {
    async list(workspaceId, now) {
      const open = and(eq(t.workspace_id, workspaceId), gt(t.expires_at, now))
      return db.select().from(t).where(open).orderBy(asc(t.id))
    },
    async byToken(tokenHash, now) {
      const [row] = await db.select().from(t).where(good(tokenHash, now))
      return row ?? null
    },
    async insert(invitation) {
      const { workspace_id, email_key } = invitation
      const earlier = and(eq(t.workspace_id, workspace_id), eq(t.email_key, email_key))
      await db.delete(t).where(earlier)
      await db.insert(t).values(invitation)
    },
    async take(tokenHash, now) {
      const [row] = await db.delete(t).where(good(tokenHash, now)).returning()
      return row ?? null
    },
    async remove(workspaceId, invitationId) {
      const removed = await db
        .delete(t)
        .where(and(eq(t.workspace_id, workspaceId), eq(t.id, invitationId)))
        .returning({ id: t.id })
      return removed.length === 1
    },
    async lockAddress(email) {
      await locked(
        db
          .select({ id: t.id })
          .from(t)
          .where(eq(t.email_key, emailKey(email))),
      )
    },
    async forget(before, limit) {
      const condition = lt(t.expires_at, before)
      return removeOldest(db, { from: t, by: t.expires_at, condition }, limit)
    },
  }
}
