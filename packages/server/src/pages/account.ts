import type { Actor, Revoked } from '@svc/core'
import { api, decode, type Endpoint, LIMITS, SvcError } from '@svc/core/contract'
import type { Awaitable, DecodedCore } from '@svc/core/operate'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Admission } from '../admission/admission.ts'
import { noteFailure } from '../failures.ts'
import { actorOf } from '../routes/mount.ts'
import { revokedText } from '../routes/revoked-text.ts'
import { acceptForm, resetForm, verifyForm } from './account-html.ts'
import { acceptForms } from './form-body.ts'
import { addPageHeaders, serveHandler } from './page.ts'
import { notice, plainPageCsp } from './plain-page.ts'

/** Enough for the longest password, percent-encoded, and the token. */
const FORM_BYTES_MAX = 8 * 1024

const CSP = plainPageCsp()
const HTML = 'text/html; charset=utf-8'

/** The page behind a link in a mail, and its form. */
interface AccountPage {
  path: string
  /** The endpoint whose rate limit counts the form. */
  endpoint: Endpoint
  form(token: string): Awaitable<string>
  /** Returns the next page. */
  submit(fields: unknown, actor: Actor): Promise<{ status: number; html: string }>
}

/** Serves the targets of links in mails: pages without scripts, whose forms post to the page's own URL. */
export function serveAccountPages(
  app: FastifyInstance,
  admission: Admission,
  core: DecodedCore,
): void {
  app.register(async (scope) => {
    acceptForms(scope)
    scope.setErrorHandler((error, request, reply) => {
      const { message } = noteFailure(error, request, reply)
      reply.type(HTML).send(notice('That did not work', message))
    })
    for (const page of accountPages(core)) serve(scope, admission, page)
  })
}

function accountPages({ workspaces, members }: DecodedCore): AccountPage[] {
  const { verify_email, reset_password } = api.workspaces
  return [
    invitationPage(members),
    {
      path: '/verify-email',
      endpoint: verify_email,
      form: verifyForm,
      async submit(fields, actor) {
        const { revoked } = await workspaces.verifyEmail(decode(verify_email.body, fields), actor)
        const text = `Thank you. You can close this page.${revokedText(revoked)}`
        return { status: 200, html: notice('Address verified', text) }
      },
    },
    {
      path: '/reset-password',
      endpoint: reset_password,
      form: resetForm,
      async submit(fields, actor) {
        let revoked: Revoked
        try {
          const request = decode(reset_password.body, withBoolean(fields))
          revoked = await workspaces.resetPassword(request, actor)
        } catch (error) {
          const again = tryAgain(error, fields)
          if (again === null) throw error
          return { status: 400, html: again }
        }
        const text = `Every session has ended. Log in with the new password.${revokedText(revoked)}`
        return { status: 200, html: notice('Password changed', text) }
      },
    },
  ]
}

/** Shows an invitation, and accepts it. The person then logs in: the page has no session to keep. */
function invitationPage(members: DecodedCore['members']): AccountPage {
  const { accept } = api.invitations
  return {
    path: '/accept-invitation',
    endpoint: accept,
    async form(token) {
      const invitation = await members.invitationOf(token)
      if (invitation) return acceptForm(token, invitation)
      return notice(
        'This invitation is not valid',
        'It was used, withdrawn or replaced, or it is too old. Ask for another invitation.',
      )
    },
    async submit(fields, actor) {
      try {
        await members.accept(decode(accept.body, withoutEmptyName(fields)), actor)
      } catch (error) {
        const token = tokenOf(fields)
        const invitation = token && (await members.invitationOf(token))
        if (!invitation || !(error instanceof SvcError) || error.status >= 500) throw error
        return { status: error.status, html: acceptForm(token, invitation, error.message) }
      }
      const text = 'You are a member of the workspace now. Log in with your e-mail address.'
      return { status: 200, html: notice('Welcome', text) }
    },
  }
}

/** An empty field of a form is a missing one. */
function withoutEmptyName(fields: unknown): unknown {
  const { name, ...rest } = (fields ?? {}) as { name?: unknown }
  return name === '' ? rest : fields
}

/** Converts the text of a ticked box to a boolean. */
function withBoolean(fields: unknown): unknown {
  return isTicked(fields) ? { ...fields, revoke_api_keys: true } : fields
}

function isTicked(fields: unknown): fields is { revoke_api_keys: 'true' } {
  const { revoke_api_keys } = (fields ?? {}) as { revoke_api_keys?: unknown }
  return revoke_api_keys === 'true'
}

/** Returns the form with its earlier values if the password is the fault; null otherwise. */
function tryAgain(error: unknown, fields: unknown): string | null {
  const token = tokenOf(fields)
  if (!(error instanceof SvcError) || error.details?.[0]?.path !== 'password') return null
  return token && resetForm(token, { fault: error.message, revokes: isTicked(fields) })
}

function serve(app: FastifyInstance, admission: Admission, page: AccountPage): void {
  const { path, endpoint } = page
  serveHandler(app, admission, { path, csp: CSP }, async ({ query }, reply) => {
    reply.type(HTML)
    const token = tokenOf(query)
    if (token !== null) return page.form(token)
    reply.code(400)
    return notice('Incomplete link', 'Open the complete link of the mail again.')
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
      const { status, html } = await page.submit(request.body ?? {}, actorOf(request))
      return reply.code(status).type(HTML).send(html)
    },
  })
}

function tokenOf(fields: unknown): string | null {
  const { token } = (fields ?? {}) as { token?: unknown }
  const isToken = typeof token === 'string' && /^[\w-]+$/.test(token)
  return isToken && token.length <= LIMITS.token_length ? token : null
}
