import { endpoint, LIMITS, SvcError, text } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import * as z from 'zod'
import type { Authenticator } from '../admission/authenticator.ts'
import { type Call, type Handlers, sessionOf } from '../routes/mount.ts'
import { type ConsoleAccess, cookiePlace } from './access.ts'
import { sessionCookie } from './session-cookie.ts'

const path = '/api/second-factor'
const own = { auth: 'jwt', needs: 'belong', status: 200 } as const
const current_password = text(LIMITS.password_length_max)

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
    data: z.object({ since: z.string().nullable(), recovery_codes: z.int() }),
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
} as const

/** The handlers of the second factor of a member. */
export function secondFactorHandlers(
  { members }: DecodedCore,
  authenticator: Authenticator,
  access: ConsoleAccess,
): Handlers<typeof secondFactorEndpoints> {
  /** The login of a session. @throws SvcError `forbidden` for a person that the host names. */
  function loginOf({ identity }: Pick<Call<unknown>, 'identity'>) {
    const { user_id, workspace_id, is_trusted } = sessionOf(identity)
    if (is_trusted) throw new SvcError('forbidden', 'The program signs people in')
    return { user_id, workspace_id }
  }

  /** Counts a code in the bucket of the sign-in. */
  async function countCodeOf(call: Pick<Call<unknown>, 'identity' | 'countCode'>) {
    const { user_id, workspace_id } = loginOf(call)
    const people = await members.list(workspace_id)
    const email = people.find(({ id }) => id === user_id)?.email ?? user_id
    await call.countCode({ kind: 'member', name: email })
  }

  return {
    async get(call) {
      const { user_id } = loginOf(call)
      const { totp_since, recovery_codes } = await members.secondFactor(user_id)
      return { since: totp_since?.toISOString() ?? null, recovery_codes }
    },
    async begin(call) {
      const { user_id } = loginOf(call)
      await call.countFor(user_id)
      return members.beginTotp(user_id, call.body)
    },
    async confirm(call) {
      const { body, actor, agent, reply } = call
      await countCodeOf(call)
      const confirmed = await members.confirmTotp(loginOf(call), body.code, actor)
      const token = await authenticator.issueToken(confirmed.session, { actor, agent })
      reply.header('set-cookie', sessionCookie(token, cookiePlace(access)))
      return { recovery_codes: confirmed.recovery_codes }
    },
    async end(call) {
      const { user_id } = loginOf(call)
      await call.countFor(user_id)
      if (call.body.otp !== undefined) await countCodeOf(call)
      await members.endTotp(user_id, call.body, call.actor)
      return {}
    },
  }
}
