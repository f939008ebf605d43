import { and, asc, eq, inArray, sql } from 'drizzle-orm'
import { emailKey } from '../../contract/fields/email-address.ts'
import type { Db } from '../../rows/dialect.ts'
import type { Tables } from '../../rows/tables.ts'
import type {
  SecondFactorReads,
  SecondFactorWrites,
  UserReads,
  UserWrites,
} from '../ports/members.ts'
import type { StoreDialect } from './dialect.ts'

export function userStore(
  db: Db,
  {
    users: t,
    oidc_identities: identities,
    members,
    invitations,
    sessions,
    account_tokens,
    login_networks,
    second_factors: factors,
    passkeys,
    secrets,
  }: Tables,
  { locked }: Pick<StoreDialect, 'locked'>,
): UserReads & UserWrites {
  return {
    async byId(userId) {
      const [row] = await db.select().from(t).where(eq(t.id, userId))
      return row ?? null
    },
    async byEmail(email) {
      const [row] = await db
        .select()
        .from(t)
        .where(eq(t.email_key, emailKey(email)))
      return row ?? null
    },
    async byIdentity({ issuer, subject }) {
      const one = and(eq(identities.issuer, issuer), eq(identities.subject, subject))
      const found = db.select({ user_id: identities.user_id }).from(identities).where(one)
      return (await found)[0]?.user_id ?? null
    },
    async identities(userId) {
      const own = db.select().from(identities).where(eq(identities.user_id, userId))
      return own.orderBy(
        asc(identities.created_at),
        asc(identities.issuer),
        asc(identities.subject),
      )
    },
    async lock(userId) {
      await locked(db.select({ id: t.id }).from(t).where(eq(t.id, userId)))
    },
    async insert(user) {
      const inserted = await db
        .insert(t)
        .values(user)
        .onConflictDoNothing({ target: t.email_key })
        .returning({ id: t.id })
      return inserted.length === 1
    },
    async changePassword(userId, { from, to, at }) {
      const same = from === undefined ? undefined : eq(t.password_hash, from)
      const changed = await db
        .update(t)
        .set({ password_hash: to, token_version: sql`${t.token_version} + 1`, updated_at: at })
        .where(and(eq(t.id, userId), same))
        .returning({ id: t.id })
      return changed.length === 1
    },
    async rename(userId, name, at) {
      await db.update(t).set({ name, updated_at: at }).where(eq(t.id, userId))
    },
    async endTokens(userId, at) {
      const ended = { token_version: sql`${t.token_version} + 1`, updated_at: at }
      await db.update(t).set(ended).where(eq(t.id, userId))
    },
    async rehash(userId, { from, to }) {
      const same = and(eq(t.id, userId), eq(t.password_hash, from))
      await db.update(t).set({ password_hash: to }).where(same)
    },
    async link(identity) {
      const linked = await db
        .insert(identities)
        .values(identity)
        .onConflictDoNothing()
        .returning({ subject: identities.subject })
      return linked.length === 1
    },
    async unlink({ issuer, subject, user_id }) {
      const one = and(eq(identities.issuer, issuer), eq(identities.subject, subject))
      const unlinked = await db
        .delete(identities)
        .where(and(one, eq(identities.user_id, user_id)))
        .returning({ subject: identities.subject })
      return unlinked.length === 1
    },
    async move(from, to) {
      await db.update(identities).set({ user_id: to }).where(eq(identities.user_id, from))
      await db.update(factors).set({ user_id: to }).where(eq(factors.user_id, from))
      await db.update(passkeys).set({ holder_id: to }).where(eq(passkeys.holder_id, from))
      await db.update(members).set({ user_id: to }).where(eq(members.user_id, from))
      await db.update(members).set({ invited_by: to }).where(eq(members.invited_by, from))
      await db.update(invitations).set({ invited_by: to }).where(eq(invitations.invited_by, from))
    },
    async remove(userId) {
      await db.delete(identities).where(eq(identities.user_id, userId))
      const own = eq(factors.user_id, userId)
      const named = db.select({ name: sql<string>`${factors.totp_secret}` }).from(factors)
      await db.delete(secrets).where(inArray(secrets.name, named.where(own)))
      await db.delete(factors).where(own)
      await db.delete(passkeys).where(eq(passkeys.holder_id, userId))
      await db.delete(members).where(eq(members.user_id, userId))
      await db.delete(sessions).where(eq(sessions.user_id, userId))
      await db.delete(account_tokens).where(eq(account_tokens.workspace_id, userId))
      await db.delete(login_networks).where(eq(login_networks.workspace_id, userId))
      await db.delete(t).where(eq(t.id, userId))
    },
  }
}

export function secondFactorStore(
  db: Db,
  { second_factors: t, workspaces, users }: Tables,
  { locked }: Pick<StoreDialect, 'locked'>,
): SecondFactorReads & SecondFactorWrites {
  return {
    async ofLogin(userId) {
      const [row] = await db.select().from(t).where(eq(t.user_id, userId))
      return row ?? null
    },
    async lock(userId) {
      const owner = db.select({ id: workspaces.id }).from(workspaces)
      await locked(owner.where(eq(workspaces.id, userId)))
      await locked(db.select({ id: users.id }).from(users).where(eq(users.id, userId)))
    },
    async change(userId, change) {
      await db
        .insert(t)
        .values({ user_id: userId, ...change })
        .onConflictDoUpdate({ target: t.user_id, set: change })
    },
  }
}
