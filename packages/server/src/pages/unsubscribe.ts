import type { Core } from '@svc/core'
import { SvcError } from '@svc/core/contract'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Admission } from '../admission.ts'
import { noteFailure } from '../failures.ts'
import { addPageHeaders, serveReading } from './page.ts'
import { notice, plainPageCsp } from './plain-page.ts'
import { unknownLink, unsubscribed, unsubscribeForm } from './unsubscribe-html.ts'

const PATH = '/unsubscribe/:token'
const HTML = 'text/html; charset=utf-8'

/** The one field, as a form of either kind, with room for what else a mail program may add. */
const FORM_BYTES_MAX = 8 * 1024

const ONE_CLICK = /(?:^|&)List-Unsubscribe=One-Click(?:&|\s*$)/i
const ONE_CLICK_PART = /name="?List-Unsubscribe"?/i

/**
 * Where the unsubscribe links of mails lead: a page with a button for people, and for mail programs the one click of
 * RFC 8058, a `POST` of `List-Unsubscribe=One-Click` that is answered 200 without cookies or a redirect. Opening the
 * link changes nothing.
 */
export function serveUnsubscribe(
  app: FastifyInstance,
  admission: Admission,
  { unsubscribe }: Core,
): void {
  app.register(async (scope) => {
    acceptAnyText(scope)
    scope.setErrorHandler((error, request, reply) => {
      const { code, message } = noteFailure(error, request, reply)
      const html = code === 'not_found' ? unknownLink() : notice('That did not work', message)
      reply.type(HTML).send(html)
    })
    serveReading(scope, admission, { path: PATH, csp: plainPageCsp() }, async (request, reply) => {
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
          return reply.type(HTML).send(notice('That did not work', 'Press the button of the page.'))
        }
        if (!(await unsubscribe.take(tokenOf(request)))) throw unknown()
        return reply.type(HTML).send(unsubscribed())
      },
    })
  })
}

/** Mail programs send a form of either kind, and one field is all that it says. RFC 8058, section 3.2. */
function acceptAnyText(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    '*',
    { parseAs: 'string' },
    async (_: FastifyRequest, text: string) => text,
  )
}

/** Whether a body is `List-Unsubscribe=One-Click`, or has it as a part of a `multipart/form-data`. */
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
