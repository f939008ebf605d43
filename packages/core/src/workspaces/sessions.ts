import { type Actor, auditRow, SERVICE } from '../audit/entry.ts'
import type { Role } from '../contract/endpoints/roles.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import { networkOf } from '../contract/fields/client-network.ts'
import { LIMITS } from '../contract/limits.ts'
import type { LoginSession } from '../contract/resources/members.ts'
import type { MemberRow, SessionRow } from '../rows/rows.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage, Writes } from '../storage/ports/storage.ts'
import { type Login, loginById } from './logins.ts'
import type { Passwords } from './password.ts'

/** A session of a login. */
export interface SessionName {
  /** The login: the workspace for its owner, otherwise the user. */
  user_id: string
  /** The SHA-256 of the token without its signature, in hex. */
  session_hash: string
}

/** How a session of a browser ends without a sign-out. */
export interface Inactivity {
  /** The time in seconds after the last use; exact to the 5 minutes in which uses are noted, and never earlier. */
  idle_s: number
  /** The request is none of the person, so that it is no use. */
  is_passive?: boolean | undefined
}

/** Whether a session that was last seen at a time has been idle for too long. */
export function isIdle(last_seen_at: Date, now: Date, { idle_s }: Inactivity): boolean {
  const age_s = (now.getTime() - last_seen_at.getTime()) / 1000
  return age_s >= idle_s + LIMITS.session_touch_s
}

/** The sessions of logins. */
export interface Sessions {
  /**
   * The role of a session in a workspace: null if the login is no member, or a new password, a logout or an end of the session
   * ended it, or with `inactivity` the time since its last use. Makes one query. Notes the use, at most once in 5 minutes.
   */
  roleOf(
    session: SessionName & { workspace_id: string; token_version: number },
    inactivity?: Inactivity,
  ): Promise<Role | null>
  /** Adds a session to the list of its login. `agent` is the header `User-Agent`. */
  listSession(
    session: SessionName & { workspace_id: string; ends_at: Date; agent: string | null },
    actor?: Actor,
  ): Promise<void>
  /** The sessions of the login of a session, newest first. */
  sessions(session: SessionName): Promise<LoginSession[]>
  /** Ends one session of a login, on every server. @throws SvcError `not_found`. */
  endSession(
    login: { user_id: string; workspace_id: string },
    sessionId: string,
    actor?: Actor,
  ): Promise<void>
  /**
   * Checks the password of a login, for a change that needs it. A login without one needs none.
   * @throws SvcError `validation_error` for a wrong or a missing password.
   */
  checkPassword(userId: string, password: string | undefined): Promise<void>
  /** Ends all sessions of a login, on every server. */
  endSessions(login: { user_id: string; workspace_id: string }, actor?: Actor): Promise<void>
}

export function createSessions({
  storage,
  runtime,
  passwords,
}: {
  storage: Storage
  runtime: Runtime
  passwords: Passwords
}): Sessions {
  /** A use that is not stored shows an older time only, so that it refuses no request. */
  async function touch(
    user_id: string,
    { id, last_seen_at }: Pick<SessionRow, 'id' | 'last_seen_at'>,
  ): Promise<void> {
    const at = runtime.now()
    const age_s = (at.getTime() - last_seen_at.getTime()) / 1000
    if (age_s < LIMITS.session_touch_s) return
    try {
      await storage.write(({ sessions }) => sessions.touch([{ user_id, id, last_seen_at: at }]))
    } catch (error) {
      runtime.log.warn({ err: error }, 'last_seen_at was not written')
    }
  }

  return {
    async roleOf({ token_version, ...session }, inactivity) {
      const facts = await storage.read.sessions.byHash(session)
      if (!facts || facts.is_ended || facts.token_version !== token_version) return null
      const { role, listed } = facts
      if (listed && inactivity && isIdle(listed.last_seen_at, runtime.now(), inactivity))
        return null
      if (role && listed && !inactivity?.is_passive) await touch(session.user_id, listed)
      return role
    },
    async listSession({ agent, ...session }, actor = SERVICE) {
      const at = runtime.now()
      const row: SessionRow = {
        ...session,
        id: runtime.id(),
        network: loginNetworkOf(actor.address),
        agent: agent?.slice(0, LIMITS.session_agent_length) ?? null,
        created_at: at,
        last_seen_at: at,
      }
      await storage.write(({ sessions }) => sessions.begin(row))
    },
    async sessions({ user_id, session_hash }) {
      const rows = await storage.read.sessions.list(user_id, runtime.now())
      return rows.map(({ session_hash: hash, user_id: _, ends_at, ...row }) => ({
        ...row,
        is_current: hash === session_hash,
        expires_at: ends_at,
      }))
    },
    async endSession({ user_id, workspace_id }, sessionId, actor = SERVICE) {
      await storage.write(async ({ sessions, audit }) => {
        const listed = await sessions.list(user_id, runtime.now())
        const row = listed.find(({ id }) => id === sessionId)
        if (!row) throw new SvcError('not_found', 'Session not found')
        const { session_hash, ends_at } = row
        if (!(await sessions.end({ workspace_id: user_id, session_hash, ends_at }))) return
        const ended = { workspace_id, action: 'session.ended' } as const
        await audit.record(auditRow(runtime, actor, ended))
      })
    },
    async checkPassword(userId, password) {
      const hash = (await loginById(storage.read, userId))?.password_hash ?? null
      if (hash === null) return
      if (password === undefined) {
        throw invalid('current_password', 'Missing required field: current_password')
      }
      if (await passwords.verify(hash, password)) return
      throw invalid('current_password', 'Current password is wrong')
    },
    async endSessions({ user_id, workspace_id }, actor = SERVICE) {
      await storage.write(async ({ workspaces, users, sessions, audit }) => {
        const at = runtime.now()
        await workspaces.endTokens(user_id, at)
        await users.endTokens(user_id, at)
        await sessions.clear(user_id)
        const ended = { workspace_id, action: 'sessions.ended' } as const
        await audit.record(auditRow(runtime, actor, ended))
      })
    },
  }
}

/** Removes a member, and the user of the last membership. @throws SvcError `not_found`. */
export async function removeMember(
  stores: Writes,
  { workspace_id, user_id }: Pick<MemberRow, 'workspace_id' | 'user_id'>,
): Promise<void> {
  // Two transactions that remove the last two memberships wait for each other.
  await stores.users.lock(user_id)
  if (!(await stores.members.remove(workspace_id, user_id))) throw memberNotFound()
  await stores.sessions.clear(user_id, workspace_id)
  await stores.savedFilters.clear(workspace_id, user_id)
  const others = await stores.members.ofUser(user_id)
  if (others.length === 0) await stores.users.remove(user_id)
}

export function memberNotFound(): SvcError {
  return new SvcError('not_found', 'Member not found')
}

/** The length of the random value that distinguishes two logins within one second. */
const SESSION_ID_BYTES = 16

/** Internet providers move a customer within a network of this size, and it is too large to show where the customer was. */
const BITS = { ipv4: 24, ipv6: 48 } as const

/** A session that begins. The caller issues the token, which names all four values. */
export interface NewSession {
  /** The login: the workspace for its owner, otherwise the user. */
  user_id: string
  workspace_id: string
  token_version: number
  session_id: string
  /** Whether the sign-in needed more than the password: a code, or an OIDC provider. */
  has_second_factor: boolean
}

/** Records that a login began a session in a workspace, and the network of the client. */
export async function beginSession(
  runtime: Pick<Runtime, 'id' | 'now' | 'bytes'>,
  { audit, loginNetworks }: Pick<Writes, 'audit' | 'loginNetworks'>,
  {
    login,
    workspace_id,
    has_second_factor,
    actor,
  }: { login: Login; workspace_id: string; has_second_factor: boolean; actor: Actor },
): Promise<NewSession> {
  const created = { workspace_id, action: 'session.created' } as const
  // The request has no credential yet, but the login is known from here on.
  const person: Actor = { ...actorOf(login.id, workspace_id, actor), kind: 'session' }
  await audit.record(auditRow(runtime, person, created))
  const network = loginNetworkOf(actor.address)
  if (network !== null) {
    const last_login_at = runtime.now()
    await loginNetworks.note({ workspace_id: login.id, network, last_login_at })
  }
  return {
    user_id: login.id,
    workspace_id,
    token_version: login.token_version,
    session_id: runtime.bytes(SESSION_ID_BYTES).toString('base64url'),
    has_second_factor,
  }
}

/** The actor with the id of a member; the owner has none. */
export function actorOf(userId: string, workspaceId: string, actor: Actor): Actor {
  return userId === workspaceId ? actor : { ...actor, id: userId }
}

/** A network is known until this time after its last login. */
export function knownSince({ now }: Pick<Runtime, 'now'>): Date {
  return new Date(now().getTime() - LIMITS.login_network_lifetime_s * 1000)
}

/** The network of a login; null if its address is unknown or not an IP address. */
export function loginNetworkOf(address: string | null): string | null {
  return address === null ? null : networkOf(address, BITS)
}
