import { SvcError } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Admission } from '../admission/admission.ts'
import type { Authenticator } from '../admission/authenticator.ts'
import { cookiePlace } from '../console-api/access.ts'
import { sessionCookie } from '../console-api/session-cookie.ts'
import { serveHandler } from '../pages/page.ts'
import { type Frame, notice, plainPageCsp } from '../pages/plain-page.ts'
import { actorOf } from '../routes/mount.ts'
import type { OidcSettings } from '../settings/oidc.ts'
import { type Checks, createOidcClient } from './client.ts'

const HTML = 'text/html; charset=utf-8'
const CSP = plainPageCsp()

/** The error that a page shows in place of a fault of the provider or the network. */
const FAILED = 'The sign-in provider did not answer as expected. Try again.'

/**
 * Serves the sign-in with an OIDC provider: `<base>/oidc/start` leads to the provider, `<base>/oidc/callback` receives its
 * answer, begins a session and leads to the console at `base`.
 */
export function serveOidc(
  app: FastifyInstance,
  admission: Admission,
  {
    core,
    authenticator,
    settings,
    public_url,
    base,
    frame,
  }: {
    core: DecodedCore
    authenticator: Authenticator
    settings: OidcSettings
    public_url: () => string
    base: string
    frame: Frame
  },
): void {
  const client = createOidcClient(settings)
  const redirectUri = () => `${public_url()}${base}/oidc/callback`
  const secure = () => public_url().startsWith('https:')

  async function begin(_: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const { url, checks } = await client.begin(redirectUri())
    reply.header('set-cookie', checksCookie({ secure: secure() }).set(checks))
    return reply.redirect(url, 303)
  }

  async function finish(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const cookie = checksCookie({ secure: secure() })
    const checks = cookie.read(request.headers.cookie)
    // Each answer has one try.
    reply.header('set-cookie', cookie.clear())
    if (!checks) throw new SvcError('forbidden', 'This sign-in is too old. Begin again.')
    // The address as the provider knows it: a proxy may have changed that of the request.
    const answer = new URL(redirectUri())
    answer.search = new URL(request.url, 'http://127.0.0.1').search
    const person = await client.finish(answer, checks)
    const actor = actorOf(request)
    const session = await core.members.signIn(person, actor)
    const agent = request.headers['user-agent'] ?? null
    await authenticator.endReplaced(request, actor)
    const token = await authenticator.issueToken(session, { actor, agent })
    reply.header('set-cookie', sessionCookie(token, cookiePlace({ base, public_url })))
    return reply.redirect(`${public_url()}${base}`, 303)
  }

  for (const [name, handle] of Object.entries({ start: begin, callback: finish })) {
    const path = `${base}/oidc/${name}`
    // HEAD must change nothing (RFC 9110 9.2.1), and these routes begin and end a sign-in.
    const only = ({ method }: FastifyRequest) => method === 'GET'
    serveHandler(app, admission, { path, csp: CSP, only }, async (...call) => {
      try {
        return await handle(...call)
      } catch (error) {
        return refuse(error, frame, ...call)
      }
    })
  }
}

/** A page with the reason. Messages of other errors may contain parts of an answer, so only their names are logged. */
function refuse(
  error: unknown,
  frame: Frame,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const isOurs = error instanceof SvcError
  if (!isOurs) {
    const { name, code } = error as { name?: string; code?: string }
    request.log.warn({ type: name, code, request_id: request.id }, 'a sign-in with OIDC failed')
  }
  const text = isOurs ? error.message : FAILED
  return reply
    .code(isOurs ? error.status : 403)
    .type(HTML)
    .send(notice(frame, 'You are not signed in', text, [{ text: 'Sign in again', href: 'start' }]))
}

/** A sign-in at the provider may take this long. */
const LIFETIME_S = 10 * 60

const FORM = /^[\w-]{1,200}$/

/**
 * The cookie that keeps the checks of a sign-in in the browser that began it. With https its name has the prefix `__Host-`,
 * so that no other host of the domain can set it: otherwise such a host could sign a person in as another one.
 */
function checksCookie({ secure }: { secure: boolean }) {
  const name = secure ? '__Host-svc_oidc' : 'svc_oidc'
  const attributes = `Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
  return {
    /** The header `Set-Cookie` that keeps the checks. */
    set: ({ state, nonce, verifier }: Checks) =>
      `${name}=${[state, nonce, verifier].join('.')}; Max-Age=${LIFETIME_S}; ${attributes}`,
    /** The header `Set-Cookie` that removes the checks. */
    clear: () => `${name}=; Max-Age=0; ${attributes}`,
    /** The checks in the header `Cookie`; null if there are none. */
    read(header: string | undefined): Checks | null {
      const cookie = header?.split('; ').find((each) => each.startsWith(`${name}=`))
      const [state = '', nonce = '', verifier = '', ...rest] =
        cookie?.slice(name.length + 1).split('.') ?? []
      const isWhole = rest.length === 0 && [state, nonce, verifier].every((one) => FORM.test(one))
      return isWhole ? { state, nonce, verifier } : null
    },
  }
}
