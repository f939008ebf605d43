import type { NewSession } from '@svc/core'
import { CAPABILITIES, mayDo, SvcError } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import type { Authenticator, Identity } from '../admission/authenticator.ts'
import type { Call, Handlers } from '../routes/mount.ts'
import {
  type ConsoleAccess,
  chosenWorkspace,
  cookiePlace,
  cookieToken,
  type Membership,
} from './access.ts'
import type { ConsoleSession } from './console-answers.ts'
import type { personEndpoints, sessionEndpoints } from './endpoints.ts'
import { operatorOf } from './operator/handlers.ts'
import { originOf } from './passkey-requests.ts'
import { clearedSessionCookie, hasOldSessionCookie, sessionCookie } from './session-cookie.ts'

type SessionIdentity = Identity & { kind: 'session' }

const SIGNED_OUT: ConsoleSession = {
  user: null,
  workspace_id: null,
  role: null,
  time_zone: null,
  may: [],
  workspaces: [],
  operator: null,
  lacks_second_factor: false,
}

/** The handlers that begin, show and end the session of a browser. */
export function sessionHandlers(
  core: DecodedCore,
  authenticator: Authenticator,
  access: ConsoleAccess,
): Handlers<typeof sessionEndpoints> {
  const { members, workspaces } = core

  /** The identity behind a request; null for none, and for a session that ended. */
  async function identityOf({ reply: { request } }: Pick<Call<never>, 'reply'>) {
    const credential = authenticator.consoleCredentialOf(request)
    try {
      const identity = credential && (await authenticator.identify(credential, request))
      return identity?.kind === 'session' ? identity : null
    } catch (error) {
      if (error instanceof SvcError && error.status === 401) return null
      throw error
    }
  }

  async function ownOf(user_id: string): Promise<Membership[]> {
    const memberships = await members.workspacesOf(user_id)
    return memberships.map(({ workspace_id: id, ...rest }) => ({ id, ...rest }))
  }

  async function view(
    {
      user_id,
      workspace_id,
      role,
      is_trusted,
      lacks_second_factor = false,
    }: Omit<SessionIdentity, 'kind' | 'session_hash' | 'token_version' | 'ends_at' | 'mode'>,
    call: Pick<Call<never>, 'reply'>,
  ): Promise<ConsoleSession> {
    const [people, own, { id, name, time_zone }, operator] = await Promise.all([
      members.list(workspace_id),
      is_trusted && access.workspaces ? access.workspaces() : ownOf(user_id),
      workspaces.account(workspace_id),
      operatorOf(authenticator, call),
    ])
    const person = people.find((one) => one.id === user_id)
    return {
      user: { id: user_id, email: person?.email ?? null, name: person?.name ?? null },
      workspace_id,
      role,
      time_zone,
      may: CAPABILITIES.filter((one) => mayDo(role, one)),
      workspaces: own.some((one) => one.id === id) ? own : [{ id, name, role }, ...own],
      operator,
      lacks_second_factor,
    }
  }

  function assertSignIn(): void {
    if (!access.has_sign_in) throw new SvcError('forbidden', 'The program signs people in')
  }

  /** Gives the browser a session that began. */
  async function started(
    call: Pick<Call<never>, 'actor' | 'agent' | 'reply'>,
    session: NewSession,
  ): Promise<ConsoleSession> {
    const { actor, agent, reply } = call
    await authenticator.endReplaced(reply.request, actor)
    const token = await authenticator.issueToken(session, { actor, agent })
    reply.header('set-cookie', sessionCookie(token, cookiePlace(access)))
    const { user_id, workspace_id } = session
    const memberships = await members.workspacesOf(user_id)
    const role = memberships.find((one) => one.workspace_id === workspace_id)?.role
    if (!role) throw new SvcError('token_expired', 'Invalid or expired token')
    const lacks_second_factor = authenticator.needs_second_factor && !session.has_second_factor
    return view({ user_id, workspace_id, role, lacks_second_factor }, call)
  }

  return {
    async get(call) {
      const identity = await identityOf(call)
      const { request } = call.reply
      if (identity) {
        const token = cookieToken(request)
        const place = cookiePlace(access)
        // The cookie of a version before the prefix gets it.
        if (token !== null && place.secure && hasOldSessionCookie(request.headers.cookie)) {
          call.reply.header('set-cookie', sessionCookie(token, place))
        }
        return view(identity, call)
      }
      // The cookie of an ended session would hide the sign-in of the host.
      if (cookieToken(request) !== null && chosenWorkspace(request) === undefined) {
        call.reply.header('set-cookie', clearedSessionCookie(cookiePlace(access)))
      }
      return { ...SIGNED_OUT, operator: await operatorOf(authenticator, call) }
    },
    async begin(call) {
      const { body, countLogin, tryCode, actor } = call
      assertSignIn()
      // A login to an e-mail address without an account counts in the same way.
      const known = await workspaces.knownNetwork(body.email, actor.address)
      const login = { kind: 'member', name: body.email } as const
      await countLogin(login, known)
      const session = await tryCode(login, body.otp, () => workspaces.login(body, actor))
      return started(call, session)
    },
    async challenge({ body: { email, password }, countLogin, actor }) {
      assertSignIn()
      const origin = originOf(access)
      if (!email || !password) return { options: await members.beginPasskeySignIn(origin) }
      const known = await workspaces.knownNetwork(email, actor.address)
      await countLogin({ kind: 'member', name: email }, known)
      return { options: await members.beginPasskeySignIn(origin, { email, password }, actor) }
    },
    async begin_with_passkey(call) {
      const { body, countLogin, actor } = call
      assertSignIn()
      const { passkey: assertion, password } = body
      if (password !== undefined) {
        const name = (await members.emailOfPasskey(assertion.id)) ?? assertion.id
        const known = await workspaces.knownNetwork(name, actor.address)
        await countLogin({ kind: 'member', name }, known)
      }
      const request = { assertion, password }
      return started(call, await members.signInWithPasskey(request, originOf(access), actor))
    },
    async end(call) {
      const identity = await identityOf(call)
      if (identity && !identity.is_trusted) {
        const { workspace_id, user_id, session_hash, ends_at } = identity
        await workspaces.logout({ workspace_id, user_id, session_hash, ends_at }, call.actor)
      }
      call.reply.header('set-cookie', clearedSessionCookie(cookiePlace(access)))
      return { ...SIGNED_OUT, operator: await operatorOf(authenticator, call) }
    },
  }
}

/** The handler that changes the person of a session. */
export function personHandlers(
  { members }: DecodedCore,
  { has_sign_in }: ConsoleAccess,
): Handlers<typeof personEndpoints> {
  return {
    async rename({ workspace_id, identity, body, actor }) {
      if (identity?.kind !== 'session' || !has_sign_in) {
        throw new SvcError('forbidden', 'The program names its people')
      }
      await members.rename(workspace_id, identity.user_id, body.name, actor)
      return body
    },
  }
}
