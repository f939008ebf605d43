import { endpoint, LIMITS, SvcError, text, timestamp } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import * as z from 'zod'
import type { Authenticator } from '../admission/authenticator.ts'
import { type Call, type Handlers, sessionOf } from '../routes/mount.ts'
import { type ConsoleAccess, cookiePlace } from './access.ts'
import { originOf, passkeyRequests } from './passkey-requests.ts'
import { sessionCookie } from './session-cookie.ts'

const path = '/api/second-factor'
const own = { auth: 'jwt', needs: 'belong', status: 200 } as const
const current_password = text(LIMITS.password_length_max)
const keys = passkeyRequests(path)

/**
 * The second factor of the person of a session. These endpoints exist only below the path of the console, and a session that
 * lacks a required second factor may call no others.
 */
export const secondFactorEndpoints = {
  get: endpoint({
    ...own,
    method: 'GET',
    rate: 'general',
    path,
    data: z.object({ since: timestamp.nullable(), recovery_codes: z.int() }),
    summary: 'Get whether the own sign-in needs a code of an authenticator app',
  }),
  begin: endpoint({
    ...own,
    method: 'POST',
    rate: 'auth',
    path,
    body: z.object({ current_password }),
    data: z.object({ secret: z.string(), uri: z.string() }),
    summary: 'Make a secret for an authenticator app',
  }),
  confirm: endpoint({
    ...own,
    method: 'POST',
    rate: 'general',
    path: `${path}/confirm`,
    body: z.object({ code: text(LIMITS.otp_length) }),
    data: z.object({ recovery_codes: z.array(z.string()) }),
    summary: 'Confirm the authenticator app with its first code; all other sessions end',
  }),
  end: endpoint({
    ...own,
    method: 'POST',
    rate: 'auth',
    path: `${path}/end`,
    body: z.object({ current_password, otp: text(LIMITS.otp_length).optional() }),
    data: z.object({}),
    summary: 'Remove the authenticator app and the recovery codes',
  }),
  passkeys: endpoint({ ...own, ...keys.passkeys, rate: 'general' }),
  begin_passkey: endpoint({ ...own, ...keys.begin_passkey, rate: 'auth' }),
  add_passkey: endpoint({ ...own, ...keys.add_passkey, rate: 'general' }),
  rename_passkey: endpoint({ ...own, ...keys.rename_passkey, rate: 'general' }),
  remove_passkey: endpoint({ ...own, ...keys.remove_passkey, rate: 'auth' }),
} as const

/** The handlers of the second factor of a member. */
export function secondFactorHandlers(
  { members }: DecodedCore,
  authenticator: Authenticator,
  { access, brand }: { access: ConsoleAccess; brand: string },
): Handlers<typeof secondFactorEndpoints> {
  /** The login of a session. @throws SvcError `forbidden` for a person that the host names. */
  function loginOf({ identity }: Pick<Call<unknown>, 'identity'>) {
    const { user_id, workspace_id, is_trusted } = sessionOf(identity)
    if (is_trusted) throw new SvcError('forbidden', 'The program signs people in')
    return { user_id, workspace_id }
  }

  /** Counts a wrong code in the bucket of the sign-in. */
  async function tryCode<T>(
    call: Pick<Call<unknown>, 'identity' | 'tryCode'>,
    code: string | undefined,
    work: () => Promise<T>,
  ): Promise<T> {
    const { user_id, workspace_id } = loginOf(call)
    const people = await members.list(workspace_id)
    const email = people.find(({ id }) => id === user_id)?.email ?? user_id
    return call.tryCode({ kind: 'member', name: email }, code, work)
  }

  /** Gives the browser the session that takes the place of all others. */
  async function renewed(
    { actor, agent, reply }: Pick<Call<unknown>, 'actor' | 'agent' | 'reply'>,
    { session, recovery_codes }: Awaited<ReturnType<typeof members.confirmTotp>>,
  ) {
    const token = await authenticator.issueToken(session, { actor, agent })
    reply.header('set-cookie', sessionCookie(token, cookiePlace(access)))
    return { recovery_codes }
  }

  return {
    async get(call) {
      const { user_id } = loginOf(call)
      const { totp_since, recovery_codes } = await members.secondFactor(user_id)
      return { since: totp_since, recovery_codes }
    },
    async begin(call) {
      const { user_id } = loginOf(call)
      await call.countFor(user_id)
      return members.beginTotp(user_id, call.body)
    },
    async confirm(call) {
      const { code } = call.body
      const confirm = () => members.confirmTotp(loginOf(call), code, call.actor)
      return renewed(call, await tryCode(call, code, confirm))
    },
    async end(call) {
      const { user_id } = loginOf(call)
      await call.countFor(user_id)
      await tryCode(call, call.body.otp, () => members.endTotp(user_id, call.body, call.actor))
      return {}
    },
    passkeys: async (call) => ({ passkeys: await members.passkeys(loginOf(call).user_id) }),
    async begin_passkey(call) {
      const { user_id } = loginOf(call)
      await call.countFor(user_id)
      const site = { origin: originOf(access), brand }
      return { options: await members.beginPasskey(user_id, call.body, site) }
    },
    async add_passkey(call) {
      const { passkey: registration, name } = call.body
      const request = { registration, name }
      const login = loginOf(call)
      return renewed(call, await members.addPasskey(login, request, originOf(access), call.actor))
    },
    async rename_passkey(call) {
      await members.renamePasskey(loginOf(call).user_id, call.params.id, call.body.name)
      return {}
    },
    async remove_passkey(call) {
      const { user_id } = loginOf(call)
      await call.countFor(user_id)
      await members.removePasskey(user_id, call.params.id, call.body, call.actor)
      return {}
    },
  }
}
