import type { Actor, NewSession } from '@svc/core'
import { api, decode, type Endpoint, LIMITS, SvcError } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Admission } from '../admission/admission.ts'
import type { Authenticator } from '../admission/authenticator.ts'
import { type ConsoleAccess, cookiePlace, isForeign } from '../console-api/access.ts'
import { sessionCookie } from '../console-api/session-cookie.ts'
import { noteFailure } from '../failures.ts'
import { actorOf } from '../routes/mount.ts'
import { revokedText } from '../routes/revoked-text.ts'
import {
  acceptForm,
  type MailRequest,
  mailForm,
  mailRequested,
  resetForm,
  verifyForm,
} from './account-html.ts'
import { acceptForms } from './form-body.ts'
import { addPageHeaders, serveHandler } from './page.ts'
import { consoleWay, type Frame, notice, plainPageCsp, type Way } from './plain-page.ts'

/** Enough for the longest password, percent-encoded, and the token. */
const FORM_BYTES_MAX = 8 * 1024

const CSP = plainPageCsp()
const HTML = 'text/html; charset=utf-8'

/** A page, with its status. */
interface Shown {
  status: number
  html: string
}

/** The page behind a link in a mail, or one to request such a mail, and its form. */
interface AccountPage {
  path: string
  /** The endpoint whose rate limit counts the form. */
  endpoint: Endpoint
  /** The ways onward from a form that was refused. */
  ways: readonly Way[]
  open(query: unknown): Promise<Shown>
  /** Returns the next page. */
  submit(fields: unknown, call: Call): Promise<Shown>
}

interface Call {
  actor: Actor
  /** Counts the request in the bucket of an e-mail address. */
  countFor(email: string): Promise<void>
  /** Counts the password of the login with an address. */
  countLogin(email: string): Promise<void>
  /** Does work that needs the code of a second factor of a login, and counts a wrong code. */
  tryCode<T>(email: string, code: string | undefined, work: () => Promise<T>): Promise<T>
  /** Begins a session of the console in the browser; false if the console is off, or another site sent the form. */
  signIn(session: NewSession): Promise<boolean>
}

interface Parts {
  core: DecodedCore
  authenticator: Authenticator
  frame: Frame
  /** null: without a console. */
  access: ConsoleAccess | null
}

/** Serves the targets of links in mails: pages without scripts, whose forms post to pages of this service. */
export function serveAccountPages(app: FastifyInstance, admission: Admission, parts: Parts): void {
  const { core, frame } = parts
  const { workspaces, members } = core
  const pages = [
    invitationPage(members, frame),
    verifyPage(workspaces, frame),
    resetPage(workspaces, frame),
    mailPage(workspaces, 'resend-verification', frame),
    mailPage(workspaces, 'forgot-password', frame),
  ]
  for (const page of pages) {
    app.register(async (scope) => {
      acceptForms(scope)
      scope.setErrorHandler((error, request, reply) => {
        const { message } = noteFailure(error, request, reply)
        reply.type(HTML).send(notice(frame, 'That did not work', message, page.ways))
      })
      serve(scope, admission, page, parts)
    })
  }
}

function verifyPage(workspaces: DecodedCore['workspaces'], frame: Frame): AccountPage {
  const { verify_email } = api.workspaces
  const again = 'resend-verification'
  return {
    path: '/verify-email',
    endpoint: verify_email,
    ways: [{ text: 'Send a new link', href: again }],
    async open(query) {
      const token = tokenOf(query)
      if (token === null) return incomplete(frame, again)
      const link = await workspaces.linkOf('verify_email', token)
      return link ? shown(verifyForm(frame, token, link)) : ended(frame, again)
    },
    async submit(fields, { actor }) {
      const request = decode(verify_email.body, fields)
      // The check before the use separates an ended link from a fault of the form.
      if (!(await workspaces.linkOf('verify_email', request.token))) return ended(frame, again)
      const { revoked } = await workspaces.verifyEmail(request, actor)
      const text = `Thank you.${revokedText(revoked)}`
      return shown(notice(frame, 'Address verified', closing(frame, text), signInWay(frame)))
    },
  }
}

function resetPage(workspaces: DecodedCore['workspaces'], frame: Frame): AccountPage {
  const { reset_password } = api.workspaces
  const again = 'forgot-password'
  return {
    path: '/reset-password',
    endpoint: reset_password,
    ways: [{ text: 'Send a new link', href: again }],
    async open(query) {
      const token = tokenOf(query)
      if (token === null) return incomplete(frame, again)
      const link = await workspaces.linkOf('reset_password', token)
      return link ? shown(resetForm(frame, token, link)) : ended(frame, again)
    },
    async submit(fields, { actor }) {
      const token = tokenOf(fields)
      const link = token === null ? null : await workspaces.linkOf('reset_password', token)
      try {
        const request = decode(reset_password.body, withBooleans(fields))
        if (!link) return ended(frame, again)
        const text = revokedText(await workspaces.resetPassword(request, actor))
        const news = `Every session has ended. Sign in with the new password.${text}`
        return shown(notice(frame, 'Password changed', news, signInWay(frame)))
      } catch (error) {
        if (token === null || !link || !isAbout('password', error)) throw error
        const before = {
          fault: error.message,
          revokes: isTicked(fields, 'revoke_api_keys'),
          keeps: isTicked(fields, 'keep_recent'),
        }
        return { status: 400, html: resetForm(frame, token, { ...link, before }) }
      }
    },
  }
}

/** Shows an invitation, and accepts it. The person is then signed in to the console. */
function invitationPage(members: DecodedCore['members'], frame: Frame): AccountPage {
  const { accept } = api.invitations
  const gone = (status: number) => ({
    status,
    html: notice(
      frame,
      'This invitation is not valid',
      'It was accepted, withdrawn or replaced, or it is too old. If you accepted it before, sign in. Otherwise ask the sender for another invitation.',
      signInWay(frame),
    ),
  })
  return {
    path: '/accept-invitation',
    endpoint: accept,
    ways: signInWay(frame),
    async open(query) {
      const token = tokenOf(query)
      if (token === null) return incomplete(frame, null)
      const invitation = await members.invitationOf(token)
      return invitation ? shown(acceptForm(frame, token, { invitation })) : gone(400)
    },
    async submit(fields, { actor, signIn, countLogin, tryCode }) {
      let session: NewSession
      try {
        const request = decode(accept.body, withoutEmpty(fields))
        const to = await members.invitationOf(request.token)
        if (to) await countLogin(to.email)
        const accepting = () => members.accept(request, actor)
        session = await tryCode(to?.email ?? '', request.otp, accepting)
      } catch (error) {
        const token = tokenOf(fields)
        const invitation = token && (await members.invitationOf(token))
        if (!(error instanceof SvcError) || error.status >= 500) throw error
        if (token && !invitation) return gone(400)
        if (!invitation) throw error
        const html = acceptForm(frame, token, { invitation, fault: error.message })
        return { status: error.status, html }
      }
      const text = 'You are a member of the workspace now.'
      return shown(
        (await signIn(session))
          ? notice(frame, 'Welcome', text, consoleWay(frame, 'Open the console'))
          : notice(frame, 'Welcome', `${text} Sign in with your e-mail address.`, signInWay(frame)),
      )
    },
  }
}

/** The page to request a mail with a new link. */
function mailPage(
  workspaces: DecodedCore['workspaces'],
  request: MailRequest,
  frame: Frame,
): AccountPage {
  const isReset = request === 'forgot-password'
  const endpoint = isReset ? api.workspaces.forgot_password : api.workspaces.resend_verification
  return {
    path: `/${request}`,
    endpoint,
    ways: [{ text: 'Enter the address again', href: request }],
    open: async () => shown(mailForm(frame, request)),
    async submit(fields, { countFor }) {
      const body = decode(endpoint.body, fields)
      await countFor(body.email)
      if (isReset) workspaces.forgotPassword(body)
      else workspaces.resendVerification(body)
      return shown(mailRequested(frame, request))
    },
  }
}

function shown(html: string): Shown {
  return { status: 200, html }
}

/** The page for a link whose token is not valid, with a form for a new link. */
function ended(frame: Frame, request: MailRequest): Shown {
  const isReset = request === 'forgot-password'
  const lifetime = isReset
    ? `${LIMITS.reset_token_lifetime_s / 60} minutes`
    : `${LIMITS.verify_token_lifetime_s / 3600} hours`
  const known = isReset ? '' : ' If you verified the address before, there is nothing left to do.'
  const text = `It was used, a newer mail replaced it, or it is older than ${lifetime}.${known} To get a new link, enter your address.`
  const html = mailForm(frame, request, { title: 'This link is not valid any more', text })
  return { status: 400, html }
}

function incomplete(frame: Frame, request: MailRequest | null): Shown {
  const title = 'Incomplete link'
  const text = 'Open the complete link of the mail again.'
  if (request === null) return { status: 400, html: notice(frame, title, text, signInWay(frame)) }
  const form = { title, text: `${text} Or get a new link: enter your address.` }
  return { status: 400, html: mailForm(frame, request, form) }
}

/** The text of a last page; without a console there is no next page. */
function closing({ console }: Frame, text: string): string {
  return console === null ? `${text} You can close this page.` : text
}

/** The sign-in of the console also beside `svc dev`, where the console opens without one. */
function signInWay(frame: Frame): Way[] {
  return consoleWay(frame, 'Sign in').map((way) => ({ ...way, href: `${way.href}/sign-in` }))
}

/** An empty field of a form is a missing one. */
function withoutEmpty(fields: unknown): unknown {
  const optional = ['name', 'otp']
  const given = Object.entries(fields ?? {})
  return Object.fromEntries(given.filter(([name, value]) => value || !optional.includes(name)))
}

const BOXES = ['revoke_api_keys', 'keep_recent'] as const

/** Converts the texts of ticked boxes to booleans. */
function withBooleans(fields: unknown): unknown {
  const ticked = BOXES.filter((box) => isTicked(fields, box)).map((box) => [box, true])
  return { ...(fields as object), ...Object.fromEntries(ticked) }
}

function isTicked(fields: unknown, box: (typeof BOXES)[number]): boolean {
  return ((fields ?? {}) as Record<string, unknown>)[box] === 'true'
}

/** Whether a field is the fault. */
function isAbout(path: string, error: unknown): error is SvcError {
  return error instanceof SvcError && error.details?.[0]?.path === path
}

function serve(
  app: FastifyInstance,
  admission: Admission,
  page: AccountPage,
  { core, authenticator, access }: Parts,
): void {
  const { path, endpoint } = page
  serveHandler(app, admission, { path, csp: CSP }, async ({ query }, reply) => {
    const { status, html } = await page.open(query)
    return reply.code(status).type(HTML).send(html)
  })
  app.route({
    method: 'POST',
    url: path,
    config: { endpoint },
    bodyLimit: FORM_BYTES_MAX,
    async onRequest(request: FastifyRequest, reply: FastifyReply) {
      addPageHeaders(reply, CSP)
      await admission.admit(endpoint, request, reply)
    },
    async handler(request, reply) {
      const countFor = (email: string) => admission.countFor(request, reply, endpoint, email)
      const actor = actorOf(request)
      const signIn = async (session: NewSession) => {
        // Another site could put the browser into a session of its own.
        if (!access?.has_sign_in || isForeign(request, access)) return false
        const agent = request.headers['user-agent'] ?? null
        try {
          await authenticator.endReplaced(request, actor)
          const token = await authenticator.issueToken(session, { actor, agent })
          reply.header('set-cookie', sessionCookie(token, cookiePlace(access)))
          return true
        } catch (err) {
          // The invitation is accepted: the person signs in by hand.
          request.log.warn({ err, request_id: request.id }, 'no session after an invitation')
          return false
        }
      }
      const loginOf = (name: string) => ({ kind: 'member', name }) as const
      const countLogin = async (email: string) => {
        const known = await core.workspaces.knownNetwork(email, actor.address)
        await admission.countLogin(request, reply, loginOf(email), known)
      }
      const tryCode: Call['tryCode'] = (email, code, work) =>
        admission.tryCode(request, reply, { login: loginOf(email), code }, work)
      const call = { actor, countFor, countLogin, tryCode, signIn }
      const { status, html } = await page.submit(request.body ?? {}, call)
      return reply.code(status).type(HTML).send(html)
    },
  })
}

function tokenOf(fields: unknown): string | null {
  const { token } = (fields ?? {}) as { token?: unknown }
  const isToken = typeof token === 'string' && /^[\w-]+$/.test(token)
  return isToken && token.length <= LIMITS.token_length ? token : null
}
