import { SvcError } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Admission } from '../admission/admission.ts'
import { noteFailure } from '../failures.ts'
import { addPageHeaders, serveHandler } from './page.ts'
import { escapeHtml, notice, plainPage, plainPageCsp } from './plain-page.ts'

const PATH = '/unsubscribe/:token'
const HTML = 'text/html; charset=utf-8'

/** Enough for the field in a form of either type, and for fields that a mail program may add. */
const FORM_BYTES_MAX = 8 * 1024

const ONE_CLICK = /(?:^|&)List-Unsubscribe=One-Click(?:&|\s*$)/i
const ONE_CLICK_PART = /name="?List-Unsubscribe"?/i

/**
 * Serves the target of unsubscribe links in mails: for people a page with a button, and for mail programs the
 * one-click request of RFC 8058. This request is a `POST` of `List-Unsubscribe=One-Click`; the answer is 200 without
 * cookies or a redirect. Opening the link changes nothing.
 */
export function serveUnsubscribe(
  app: FastifyInstance,
  admission: Admission,
  { unsubscribe }: DecodedCore,
): void {
  app.register(async (scope) => {
    acceptAnyText(scope)
    scope.setErrorHandler((error, request, reply) => {
      const { code, message } = noteFailure(error, request, reply)
      const html = code === 'not_found' ? unknownLink() : notice('That did not work', message)
      reply.type(HTML).send(html)
    })
    serveHandler(scope, admission, { path: PATH, csp: plainPageCsp() }, async (request, reply) => {
      const found = await unsubscribe.look(tokenOf(request))
      if (!found) throw unknown()
      return reply.type(HTML).send(unsubscribeForm(found.workspace_name, found.masked_address))
    })
    scope.route({
      method: 'POST',
      url: PATH,
      config: { page: 'anonymous' },
      bodyLimit: FORM_BYTES_MAX,
      async onRequest(request, reply) {
        await admission.admitVisitor('anonymous', request, reply)
        addPageHeaders(reply, plainPageCsp())
      },
      async handler(request, reply) {
        if (!isOneClick(request)) {
          reply.code(400)
          return reply.type(HTML).send(notice('That did not work', 'Press the button on the page.'))
        }
        if (!(await unsubscribe.take(tokenOf(request)))) throw unknown()
        return reply.type(HTML).send(unsubscribed())
      },
    })
  })
}

/** Takes any text, because mail programs send forms of two types. Source: RFC 8058, section 3.2. */
function acceptAnyText(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    '*',
    { parseAs: 'string' },
    async (_: FastifyRequest, text: string) => text,
  )
}

/** Whether a body is `List-Unsubscribe=One-Click`, or `multipart/form-data` with this field. */
function isOneClick({ body }: FastifyRequest): boolean {
  if (typeof body !== 'string') return false
  if (ONE_CLICK.test(body)) return true
  const lines = body.split(/\r?\n/)
  const header = lines.findIndex((line) => ONE_CLICK_PART.test(line))
  const end = header === -1 ? -1 : lines.indexOf('', header)
  return end !== -1 && lines[end + 1]?.trim().toLowerCase() === 'one-click'
}

function tokenOf({ params }: FastifyRequest): string {
  return (params as { token: string }).token
}

function unknown(): SvcError {
  return new SvcError('not_found', 'There is no such link')
}

/** Asks for a click, because programs that scan mails open links too. The form posts to the page's own URL. */
function unsubscribeForm(from: string, address: string): string {
  return plainPage(
    'Unsubscribe',
    `<p>${escapeHtml(from)} will send no more e-mail to ${escapeHtml(address)}.</p>
<form method="post" accept-charset="utf-8">
<input type="hidden" name="List-Unsubscribe" value="One-Click">
<button>Unsubscribe</button>
</form>`,
  )
}

function unsubscribed(): string {
  return notice(
    'Unsubscribed',
    'This sender will send you no more e-mail. You can close this page.',
  )
}

function unknownLink(): string {
  return notice('Unknown link', 'Open the complete link of the mail again.')
}
