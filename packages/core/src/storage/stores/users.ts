import { and, asc, eq, gt, inArray, lt, sql } from 'drizzle-orm'
import { emailKey } from '../../contract/fields/email-address.ts'
import type { Db } from '../../rows/dialect.ts'
import type { AccountTokenRow, OidcIdentityRow, SecondFactorRow, UserRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'

import { removeOldest, type StoreDialect } from './queries.ts'

export function userStore(
  db: Db,
  {
    users: t,
    oidc_identities: identities,
    members,
    saved_filters: filters,
    invitations,
    sessions,
    account_tokens,
    login_networks,
    second_factors: factors,
    passkeys,
    secrets,
  }: Tables,
  { locked, hold }: Pick<StoreDialect, 'locked' | 'hold'>,
) {
  return {
    reads: {
      async byId(userId: string): Promise<UserRow | null> {
        const [row] = await db.select().from(t).where(eq(t.id, userId))
        return row ?? null
      },
      /** Addresses are compared in lower case. */
      async byEmail(email: string): Promise<UserRow | null> {
        const [row] = await db
          .select()
          .from(t)
          .where(eq(t.email_key, emailKey(email)))
        return row ?? null
      },
      /** The user id that an OIDC provider's subject signs in as; null if it is unknown. */
      async byIdentity({
        issuer,
        subject,
      }: Pick<OidcIdentityRow, 'issuer' | 'subject'>): Promise<string | null> {
        const one = and(eq(identities.issuer, issuer), eq(identities.subject, subject))
        const found = db.select({ user_id: identities.user_id }).from(identities).where(one)
        return (await found)[0]?.user_id ?? null
      },
      /** The OIDC subjects that sign in as this login, oldest first. */
      async identities(userId: string): Promise<OidcIdentityRow[]> {
        const own = db.select().from(identities).where(eq(identities.user_id, userId))
        return own.orderBy(
          asc(identities.created_at),
          asc(identities.issuer),
          asc(identities.subject),
        )
      },
    },
    writes: {
      /** Locks this user until the transaction ends. */
      async lock(userId: string): Promise<void> {
        await locked(db.select({ id: t.id }).from(t).where(eq(t.id, userId)))
      },
      /**
       * Until the transaction ends, no other makes a login with this address. Owners and users are in two tables, so no
       * unique index makes sure that one address has one login. Look for the login after the lock.
       */
      async lockAddress(email: string): Promise<void> {
        await hold(db, emailKey(email))
      },
      /** Returns false, and writes nothing, when a user has the address. */
      async insert(user: UserRow): Promise<boolean> {
        const inserted = await db
          .insert(t)
          .values(user)
          .onConflictDoNothing({ target: t.email_key })
          .returning({ id: t.id })
        return inserted.length === 1
      },
      /**
       * Replaces the password hash and ends every token issued before. With `from`, only if `from` is the current hash;
       * otherwise returns false.
       */
      async changePassword(
        userId: string,
        { from, to, at }: { from?: string; to: string; at: Date },
      ): Promise<boolean> {
        const same = from === undefined ? undefined : eq(t.password_hash, from)
        const changed = await db
          .update(t)
          .set({ password_hash: to, token_version: sql`${t.token_version} + 1`, updated_at: at })
          .where(and(eq(t.id, userId), same))
          .returning({ id: t.id })
        return changed.length === 1
      },
      async rename(userId: string, name: string | null, at: Date): Promise<void> {
        await db.update(t).set({ name, updated_at: at }).where(eq(t.id, userId))
      },
      /** Ends every token issued before. */
      async endTokens(userId: string, at: Date): Promise<void> {
        const ended = { token_version: sql`${t.token_version} + 1`, updated_at: at }
        await db.update(t).set(ended).where(eq(t.id, userId))
      },
      /** Replaces the hash by another hash of the same password, unless the password changed meanwhile. Ends no token. */
      async rehash(userId: string, { from, to }: { from: string; to: string }): Promise<void> {
        const same = and(eq(t.id, userId), eq(t.password_hash, from))
        await db.update(t).set({ password_hash: to }).where(same)
      },
      /** Lets an OIDC subject sign in as this login. Returns false if the subject is known. */
      async link(identity: OidcIdentityRow): Promise<boolean> {
        const linked = await db
          .insert(identities)
          .values(identity)
          .onConflictDoNothing()
          .returning({ subject: identities.subject })
        return linked.length === 1
      },
      /** Returns false if the subject does not sign in as this login. */
      async unlink({
        issuer,
        subject,
        user_id,
      }: Pick<OidcIdentityRow, 'issuer' | 'subject' | 'user_id'>): Promise<boolean> {
        const one = and(eq(identities.issuer, issuer), eq(identities.subject, subject))
        const unlinked = await db
          .delete(identities)
          .where(and(one, eq(identities.user_id, user_id)))
          .returning({ subject: identities.subject })
        return unlinked.length === 1
      },
      /** Gives the OIDC subjects, second factor, memberships, sent invitations and roles of a login to another login. */
      async move(from: string, to: string): Promise<void> {
        await db.update(identities).set({ user_id: to }).where(eq(identities.user_id, from))
        await db.update(factors).set({ user_id: to }).where(eq(factors.user_id, from))
        await db.update(passkeys).set({ holder_id: to }).where(eq(passkeys.holder_id, from))
        await db.update(members).set({ user_id: to }).where(eq(members.user_id, from))
        await db.update(filters).set({ user_id: to }).where(eq(filters.user_id, from))
        await db.update(members).set({ invited_by: to }).where(eq(members.invited_by, from))
        await db.update(invitations).set({ invited_by: to }).where(eq(invitations.invited_by, from))
      },
      /** Removes a user with its OIDC subjects, second factor, sessions, tokens and networks. */
      async remove(userId: string): Promise<void> {
        await db.delete(identities).where(eq(identities.user_id, userId))
        const own = eq(factors.user_id, userId)
        const named = db.select({ name: sql<string>`${factors.totp_secret}` }).from(factors)
        await db.delete(secrets).where(inArray(secrets.name, named.where(own)))
        await db.delete(factors).where(own)
        await db.delete(passkeys).where(eq(passkeys.holder_id, userId))
        await db.delete(members).where(eq(members.user_id, userId))
        await db.delete(filters).where(eq(filters.user_id, userId))
        await db.delete(sessions).where(eq(sessions.user_id, userId))
        await db.delete(account_tokens).where(eq(account_tokens.workspace_id, userId))
        await db.delete(login_networks).where(eq(login_networks.workspace_id, userId))
        await db.delete(t).where(eq(t.id, userId))
      },
    },
  }
}

/** What logins need beside the password. */
export function secondFactorStore(
  db: Db,
  { second_factors: t, workspaces, users }: Tables,
  { locked }: Pick<StoreDialect, 'locked'>,
) {
  return {
    reads: {
      /** null for a login without a second factor. */
      async ofLogin(userId: string): Promise<SecondFactorRow | null> {
        const [row] = await db.select().from(t).where(eq(t.user_id, userId))
        return row ?? null
      },
    },
    writes: {
      /** Locks a login until the transaction ends. */
      async lock(userId: string): Promise<void> {
        const owner = db.select({ id: workspaces.id }).from(workspaces)
        await locked(owner.where(eq(workspaces.id, userId)))
        await locked(db.select({ id: users.id }).from(users).where(eq(users.id, userId)))
      },
      async change(
        userId: string,
        change: Partial<Omit<SecondFactorRow, 'user_id'>>,
      ): Promise<void> {
        await db
          .insert(t)
          .values({ user_id: userId, ...change })
          .onConflictDoUpdate({ target: t.user_id, set: change })
      },
    },
  }
}

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
