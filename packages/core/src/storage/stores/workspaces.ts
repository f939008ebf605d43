import { and, asc, desc, eq, gt, inArray, lte, or, sql } from 'drizzle-orm'
import type { Slice } from '../../contract/endpoints/paging.ts'
import { emailKey } from '../../contract/fields/email-address.ts'
import type { Db } from '../../rows/dialect.ts'
import type { OwnerMailRow, WorkspaceRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'

import { filledUp, isBelow, type StoreDialect } from './queries.ts'

/** The columns that the owner may change. */
export type WorkspaceChange = {
  [K in
    | 'name'
    | 'phone'
    | 'country'
    | 'sender_name'
    | 'verification_daily_credits'
    | 'verification_countries'
    | 'quiet_hours'
    | 'time_zone'
    | 'postal_address'
    | 'sms_opt_out_text'
    | 'webhook_mails']?: WorkspaceRow[K] | undefined
}

export function workspaceStore(
  db: Db,
  { workspaces: t }: Tables,
  { locked }: Pick<StoreDialect, 'locked'>,
) {
  return {
    reads: {
      async byId(workspaceId: string): Promise<WorkspaceRow | null> {
        const [row] = await db.select().from(t).where(eq(t.id, workspaceId))
        return row ?? null
      },
      /** The quiet hours, and the zone of recipients without one; null for a workspace that does not exist. */
      async quietHours(
        workspaceId: string,
      ): Promise<Pick<WorkspaceRow, 'quiet_hours' | 'time_zone'> | null> {
        const { quiet_hours, time_zone } = t
        const [row] = await db
          .select({ quiet_hours, time_zone })
          .from(t)
          .where(eq(t.id, workspaceId))
        return row ?? null
      },
      /** The ends of marketing messages; null for a workspace that does not exist. */
      async marketingTexts(
        workspaceId: string,
      ): Promise<Pick<WorkspaceRow, 'postal_address' | 'sms_opt_out_text'> | null> {
        const { postal_address, sms_opt_out_text } = t
        const [row] = await db
          .select({ postal_address, sms_opt_out_text })
          .from(t)
          .where(eq(t.id, workspaceId))
        return row ?? null
      },
      /** Addresses are compared in lower case. */
      async byEmail(email: string): Promise<WorkspaceRow | null> {
        const [row] = await db
          .select()
          .from(t)
          .where(eq(t.email_key, emailKey(email)))
        return row ?? null
      },
      /** The names of the workspaces with these ids that exist, in any order, for the operator. */
      async namesOf(ids: readonly string[]): Promise<Pick<WorkspaceRow, 'id' | 'name'>[]> {
        if (ids.length === 0) return []
        const { id, name } = t
        return db
          .select({ id, name })
          .from(t)
          .where(inArray(id, filledUp(ids)))
      },
      /** Every workspace, oldest first, for the operator's commands. */
      async list({ limit, offset }: Slice): Promise<WorkspaceRow[]> {
        return db.select().from(t).orderBy(asc(t.id)).limit(limit).offset(offset)
      },
      /** The workspaces whose name or address contains a text, or with this id; newest first, for the operator. */
      async search(text: string, { limit, offset, after }: Slice): Promise<WorkspaceRow[]> {
        const pattern = `%${text.toLowerCase().replaceAll(/[\\%_]/g, '\\$&')}%`
        const found = or(
          eq(t.id, text),
          sql`lower(${t.name}) like ${pattern} escape '\\'`,
          sql`${t.email_key} like ${pattern} escape '\\'`,
        )
        return db
          .select()
          .from(t)
          .where(and(text === '' ? undefined : found, isBelow(t.id, after)))
          .orderBy(desc(t.id))
          .limit(limit)
          .offset(offset)
      },
    },
    writes: {
      /** Locks this workspace until the transaction ends. */
      async lock(workspaceId: string): Promise<void> {
        await locked(db.select({ id: t.id }).from(t).where(eq(t.id, workspaceId)))
      },
      /** Returns false, and writes nothing, when the e-mail address is taken. */
      async insert(workspace: WorkspaceRow): Promise<boolean> {
        const inserted = await db
          .insert(t)
          .values(workspace)
          .onConflictDoNothing({ target: t.email_key })
          .returning({ id: t.id })
        return inserted.length === 1
      },
      /** Changes only the given columns. */
      async change(workspaceId: string, change: WorkspaceChange, at: Date): Promise<void> {
        await db
          .update(t)
          .set({ ...change, updated_at: at })
          .where(eq(t.id, workspaceId))
      },
      async renameOwner(workspaceId: string, name: string | null, at: Date): Promise<void> {
        await db.update(t).set({ owner_name: name, updated_at: at }).where(eq(t.id, workspaceId))
      },
      /** Returns false, and writes nothing, if the address is already verified. */
      async verifyEmail(workspaceId: string, at: Date): Promise<boolean> {
        const verified = { email_verified: true, updated_at: at }
        const first = and(eq(t.id, workspaceId), eq(t.email_verified, false))
        const changed = await db.update(t).set(verified).where(first).returning({ id: t.id })
        return changed.length === 1
      },
      /**
       * Replaces the password hash and ends every token issued before. With `from`, only if `from` is the current hash;
       * otherwise returns false.
       */
      async changePassword(
        workspaceId: string,
        { from, to, at }: { from?: string; to: string; at: Date },
      ): Promise<boolean> {
        const changed = await db
          .update(t)
          .set({ password_hash: to, token_version: sql`${t.token_version} + 1`, updated_at: at })
          .where(
            and(eq(t.id, workspaceId), from === undefined ? undefined : eq(t.password_hash, from)),
          )
          .returning({ id: t.id })
        return changed.length === 1
      },
      /** Ends every token issued before. */
      async endTokens(workspaceId: string, at: Date): Promise<void> {
        const ended = { token_version: sql`${t.token_version} + 1`, updated_at: at }
        await db.update(t).set(ended).where(eq(t.id, workspaceId))
      },
      /** Gives the workspace to another login. The token version becomes `login.token_version`. */
      async changeOwner(
        workspaceId: string,
        login: Pick<
          WorkspaceRow,
          'email' | 'email_key' | 'owner_name' | 'password_hash' | 'token_version'
        >,
        at: Date,
      ): Promise<void> {
        const owner = { ...login, email_verified: true, updated_at: at }
        await db.update(t).set(owner).where(eq(t.id, workspaceId))
      },
      /** Replaces the hash by another hash of the same password, unless the password changed meanwhile. Ends no token. */
      async rehash(workspaceId: string, { from, to }: { from: string; to: string }): Promise<void> {
        const same = and(eq(t.id, workspaceId), eq(t.password_hash, from))
        await db.update(t).set({ password_hash: to }).where(same)
      },
    },
  }
}

export function ownerMailStore(db: Db, { owner_mails: t }: Tables) {
  return {
    reads: {},
    writes: {
      /**
       * Records an e-mail to the owner and returns true; returns false if an e-mail was sent within the last `every_ms`.
       * One of several simultaneous callers gets true.
       */
      async claim(mail: OwnerMailRow, every_ms: number): Promise<boolean> {
        const { mailed_at } = mail
        const before = new Date(mailed_at.getTime() - every_ms)
        const after = new Date(mailed_at.getTime() + every_ms)
        const claimed = await db
          .insert(t)
          .values(mail)
          .onConflictDoUpdate({
            target: [t.workspace_id, t.kind],
            set: { mailed_at },
            // A stored time that is so far in the future means that the clock was set back: it must not delay the mail.
            setWhere: sql`${lte(t.mailed_at, before)} or ${gt(t.mailed_at, after)}`,
          })
          .returning({ kind: t.kind })
        return claimed.length === 1
      },
    },
  }
}
