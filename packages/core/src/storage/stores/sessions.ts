import {
  and,
  asc,
  desc,
  eq,
  gt,
  gte,
  inArray,
  isNull,
  lt,
  lte,
  notInArray,
  or,
  type SQL,
  sql,
} from 'drizzle-orm'
import { emailKey } from '../../contract/fields/email-address.ts'
import { LIMITS } from '../../contract/limits.ts'
import type { Db } from '../../rows/dialect.ts'
import type {
  EndedSessionRow,
  LoginNetworkRow,
  MemberRow,
  PasskeyChallengeRow,
  PasskeyRow,
  SessionRow,
} from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'
import { removeOldest, type StoreDialect } from './queries.ts'

/** The validity of a session and the role of its login in a workspace. */
export interface SessionFacts {
  /** The current token version of the login. */
  token_version: number
  is_ended: boolean
  /** The role in the workspace; null for a login that is no member. */
  role: 'owner' | MemberRow['role'] | null
  /** The id and last use of the session in the list of sessions; null for a session that is not in the list. */
  listed: Pick<SessionRow, 'id' | 'last_seen_at'> | null
}

/** Sessions, found by their login and the hash of their token. */
export function sessionStore(
  db: Db,
  { ended_sessions: t, sessions: listed, workspaces, users, members }: Tables,
) {
  return {
    reads: {
      /** The facts that decide what a session may do in a workspace, in one query; null without such a login or workspace. */
      async byHash({
        user_id,
        session_hash,
        workspace_id,
      }: {
        user_id: string
        session_hash: string
        workspace_id: string
      }): Promise<SessionFacts | null> {
        const owner = db
          .select({ owner_version: workspaces.token_version })
          .from(workspaces)
          .where(eq(workspaces.id, user_id))
          .as('owner_login')
        const ended = and(eq(t.workspace_id, user_id), eq(t.session_hash, session_hash))
        const same = and(eq(listed.user_id, user_id), eq(listed.session_hash, session_hash))
        const member = and(eq(members.workspace_id, workspaces.id), eq(members.user_id, user_id))
        const [row] = await db
          .select({
            owner_version: owner.owner_version,
            user_version: users.token_version,
            ended: t.session_hash,
            role: members.role,
            id: listed.id,
            last_seen_at: listed.last_seen_at,
          })
          .from(workspaces)
          .leftJoin(owner, sql`true`)
          .leftJoin(users, eq(users.id, user_id))
          .leftJoin(members, member)
          .leftJoin(t, ended)
          .leftJoin(listed, same)
          .where(eq(workspaces.id, workspace_id))
        const token_version = row?.owner_version ?? row?.user_version ?? null
        if (!row || token_version === null) return null
        const { id, last_seen_at } = row
        return {
          token_version,
          is_ended: row.ended !== null,
          role: user_id === workspace_id ? 'owner' : row.role,
          listed: id !== null && last_seen_at !== null ? { id, last_seen_at } : null,
        }
      },
      /** The listed sessions of a login, newest first. */
      async list(userId: string, now: Date): Promise<SessionRow[]> {
        const own = and(eq(listed.user_id, userId), gt(listed.ends_at, now))
        return db.select().from(listed).where(own).orderBy(desc(listed.id))
      },
    },
    writes: {
      /** Adds a session to the list of its login, and keeps the newest `LIMITS.sessions` in the list. */
      async begin(session: SessionRow): Promise<void> {
        await db.insert(listed).values(session)
        const own = eq(listed.user_id, session.user_id)
        const newest = db
          .select({ id: listed.id })
          .from(listed)
          .where(own)
          .orderBy(desc(listed.id))
          .limit(LIMITS.sessions)
        await db.delete(listed).where(and(own, notInArray(listed.id, newest)))
      },
      /** Ends one session. Returns false if the session had already ended. */
      async end(session: EndedSessionRow): Promise<boolean> {
        const { workspace_id: user_id, session_hash } = session
        await db
          .delete(listed)
          .where(and(eq(listed.user_id, user_id), eq(listed.session_hash, session_hash)))
        const ended = await db
          .insert(t)
          .values(session)
          .onConflictDoNothing()
          .returning({ hash: t.session_hash })
        return ended.length === 1
      },
      /** Removes the sessions of a login from the list; with `workspaceId`, only those that began in this workspace. */
      async clear(userId: string, workspaceId?: string): Promise<void> {
        const there = workspaceId === undefined ? undefined : eq(listed.workspace_id, workspaceId)
        await db.delete(listed).where(and(eq(listed.user_id, userId), there))
      },
      /** Moves `last_seen_at` forward, never back. */
      async touch(
        uses: readonly Pick<SessionRow, 'user_id' | 'id' | 'last_seen_at'>[],
      ): Promise<void> {
        for (const { user_id, id, last_seen_at } of uses) {
          const older = lt(listed.last_seen_at, last_seen_at)
          await db
            .update(listed)
            .set({ last_seen_at })
            .where(and(eq(listed.user_id, user_id), eq(listed.id, id), older))
        }
      },
      /** Removes about `limit` sessions whose tokens expired before `before`; returns their number. */
      async forget(before: Date, limit: number): Promise<number> {
        const condition = lt(t.ends_at, before)
        const removed = await removeOldest(db, { from: t, by: t.ends_at, condition }, limit)
        const expired = { from: listed, by: listed.ends_at, condition: lt(listed.ends_at, before) }
        return Math.max(removed, await removeOldest(db, expired, limit))
      },
    },
  }
}

/** The networks from which accounts logged in. */
export function loginNetworkStore(
  db: Db,
  { login_networks: t, workspaces, users, operators }: Tables,
  { locked }: StoreDialect,
) {
  async function isKnown(ofLogin: SQL | undefined, network: string, since: Date) {
    const known = and(ofLogin, eq(t.network, network), gte(t.last_login_at, since))
    return (await db.select({ network: t.network }).from(t).where(known)).length === 1
  }

  return {
    reads: {
      /**
       * Whether the account of an e-mail address logged in from that network since that time. It is one query, whether or
       * not the address has an account.
       */
      async byEmail(email: string, network: string, since: Date): Promise<boolean> {
        const key = emailKey(email)
        const owner = db.select({ id: workspaces.id }).from(workspaces)
        const user = db.select({ id: users.id }).from(users)
        const ofAddress = or(
          inArray(t.workspace_id, owner.where(eq(workspaces.email_key, key))),
          inArray(t.workspace_id, user.where(eq(users.email_key, key))),
        )
        return isKnown(ofAddress, network, since)
      },
      /** The same for the operator of a name, as `OperatorReads.byName` finds it. */
      async byOperator(name: string, network: string, since: Date): Promise<boolean> {
        const operator = db.select({ id: operators.id }).from(operators)
        const ofName = operator.where(eq(operators.name_key, emailKey(name)))
        return isKnown(inArray(t.workspace_id, ofName), network, since)
      },
    },
    writes: {
      /** The last login of a login from a network; null for none. */
      async lastLogin(workspaceId: string, network: string): Promise<Date | null> {
        const one = and(eq(t.workspace_id, workspaceId), eq(t.network, network))
        const [row] = await db.select({ at: t.last_login_at }).from(t).where(one)
        return row?.at ?? null
      },
      /** Records a login. Keeps the workspace's newest `LIMITS.login_networks`. */
      async note(row: LoginNetworkRow): Promise<void> {
        const ofWorkspace = eq(t.workspace_id, row.workspace_id)
        // Without the lock, one of two concurrent transactions would not see the other's row.
        const owner = db.select({ id: workspaces.id }).from(workspaces)
        await locked(owner.where(eq(workspaces.id, row.workspace_id)))
        const user = db.select({ id: users.id }).from(users)
        await locked(user.where(eq(users.id, row.workspace_id)))
        const operator = db.select({ id: operators.id }).from(operators)
        await locked(operator.where(eq(operators.id, row.workspace_id)))
        await db
          .insert(t)
          .values(row)
          .onConflictDoUpdate({
            target: [t.workspace_id, t.network],
            set: { last_login_at: row.last_login_at },
          })
        const newest = db
          .select({ network: t.network })
          .from(t)
          .where(ofWorkspace)
          .orderBy(desc(t.last_login_at), desc(t.network))
          .limit(LIMITS.login_networks)
        await db.delete(t).where(and(ofWorkspace, notInArray(t.network, newest)))
      },
      /** Removes all networks of a workspace. */
      async clear(workspaceId: string): Promise<void> {
        await db.delete(t).where(eq(t.workspace_id, workspaceId))
      },
      /** Removes about `limit` networks whose last login is before that time; returns their number. */
      async forget(before: Date, limit: number): Promise<number> {
        const by = t.last_login_at
        return removeOldest(db, { from: t, by, condition: lt(by, before) }, limit)
      },
    },
  }
}

/** The passkeys of logins and operators. */
export function passkeyStore(db: Db, { passkeys: t, passkey_challenges: challenges }: Tables) {
  const one = (holderId: string, id: string) => and(eq(t.holder_id, holderId), eq(t.id, id))
  return {
    reads: {
      /** Oldest first. */
      async ofHolder(holderId: string): Promise<PasskeyRow[]> {
        const own = db.select().from(t).where(eq(t.holder_id, holderId))
        return own.orderBy(asc(t.created_at), asc(t.id))
      },
      async byCredential(credentialId: string): Promise<PasskeyRow | null> {
        const [row] = await db.select().from(t).where(eq(t.credential_id, credentialId))
        return row ?? null
      },
    },
    writes: {
      /** Returns false, and writes nothing, if the credential is known. */
      async insert(passkey: PasskeyRow): Promise<boolean> {
        const inserted = await db
          .insert(t)
          .values(passkey)
          .onConflictDoNothing({ target: t.credential_id })
          .returning({ id: t.id })
        return inserted.length === 1
      },
      /** Records a use, after which the passkey needs no password. Returns false for a passkey that was removed, and for a counter that does not rise. */
      async use(
        credentialId: string,
        { counter, last_used_at }: { counter: number; last_used_at: Date },
      ): Promise<boolean> {
        // A counter of 0 stays 0: the device counts nothing (WebAuthn level 3, 6.1.1).
        const isNext = or(lt(t.counter, counter), and(eq(t.counter, 0), eq(t.counter, counter)))
        const used = await db
          .update(t)
          .set({ counter, last_used_at, needs_password: false })
          .where(and(eq(t.credential_id, credentialId), isNext))
          .returning({ id: t.id })
        return used.length === 1
      },
      /** Returns false if the person has no such passkey. */
      async rename(holderId: string, id: string, name: string): Promise<boolean> {
        const renamed = db.update(t).set({ name }).where(one(holderId, id)).returning({ id: t.id })
        return (await renamed).length === 1
      },
      /** Returns false if the person has no such passkey. */
      async remove(holderId: string, id: string): Promise<boolean> {
        const removed = db.delete(t).where(one(holderId, id)).returning({ id: t.id })
        return (await removed).length === 1
      },
      /** The next use of each passkey of a person needs the password. */
      async needPassword(holderId: string): Promise<void> {
        await db.update(t).set({ needs_password: true }).where(eq(t.holder_id, holderId))
      },
      /** Removes all passkeys of a person. */
      async clear(holderId: string): Promise<void> {
        await db.delete(t).where(eq(t.holder_id, holderId))
      },
      /** Stores a challenge. Removes those that are over, and all but the newest `keep`. */
      async addChallenge(
        challenge: PasskeyChallengeRow,
        { now, keep }: { now: Date; keep: number },
      ): Promise<void> {
        await db.insert(challenges).values(challenge)
        await db.delete(challenges).where(lte(challenges.expires_at, now))
        const newest = db
          .select({ hash: challenges.challenge_hash })
          .from(challenges)
          .orderBy(desc(challenges.expires_at), asc(challenges.challenge_hash))
          .limit(keep)
        await db.delete(challenges).where(notInArray(challenges.challenge_hash, newest))
      },
      /** Uses up a valid challenge of a person, or with null of a sign-in. Returns false for none. */
      async takeChallenge(
        challengeHash: string,
        holderId: string | null,
        now: Date,
      ): Promise<boolean> {
        const { holder_id, challenge_hash, expires_at } = challenges
        const theirs = holderId === null ? isNull(holder_id) : eq(holder_id, holderId)
        const taken = await db
          .delete(challenges)
          .where(and(eq(challenge_hash, challengeHash), theirs, gt(expires_at, now)))
          .returning({ hash: challenge_hash })
        return taken.length === 1
      },
    },
  }
}
