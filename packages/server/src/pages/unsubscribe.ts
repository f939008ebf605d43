import type { UnsubscribeLink } from '@svc/core'
import { SvcError } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Admission } from '../admission/admission.ts'
import { noteFailure } from '../failures.ts'
import { addPageHeaders, serveHandler } from './page.ts'
import { escapeHtml, type Frame, notice, plainPage, plainPageCsp } from './plain-page.ts'

const PATH = '/unsubscribe/:token'
const HTML = 'text/html; charset=utf-8'

/** Enough for the field in a form of either type, and for fields that a mail program may add. */
const FORM_BYTES_MAX = 8 * 1024

const SUBSCRIBE = 'subscribe'
const AGAIN = 'again'

const ONE_CLICK_PART = /name="?List-Unsubscribe"?/i

/**
 * Serves the target of unsubscribe links in mails: for people a page with a button, and for mail programs the
 * one-click request of RFC 8058. This request is a `POST` of `List-Unsubscribe=One-Click`; the answer is 200 without
 * cookies or a redirect. Opening the link changes nothing.
 */
export function serveUnsubscribe(
  app: FastifyInstance,
  admission: Admission,
  { core: { unsubscribe }, frame }: { core: DecodedCore; frame: Frame },
): void {
  async function linkOf(token: string): Promise<UnsubscribeLink> {
    const link = await unsubscribe.look(token)
    if (link) return link
    throw unknown()
  }

  app.register(async (scope) => {
    acceptAnyText(scope)
    scope.setErrorHandler((error, request, reply) => {
      const { code, message } = noteFailure(error, request, reply)
      const html = code === 'not_found' ? unknownLink(frame) : failed(frame, message)
      reply.type(HTML).send(html)
    })
    serveHandler(scope, admission, { path: PATH, csp: plainPageCsp() }, async (request, reply) => {
      const found = await linkOf(tokenOf(request))
      const page = found.is_suppressed ? unsubscribed : unsubscribeForm
      return reply.type(HTML).send(page(frame, found))
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
        const token = tokenOf(request)
        reply.type(HTML)
        if (isOneClick(request)) {
          if (!(await unsubscribe.take(token))) throw unknown()
          return reply.send(unsubscribed(frame, await linkOf(token)))
        }
        if (!isAgain(request)) {
          return reply.code(400).send(failed(frame, 'Open the link again, and press the button.'))
        }
        await unsubscribe.undo(token)
        const link = await linkOf(token)
        return reply.send((link.is_suppressed ? unsubscribed : subscribed)(frame, link))
      },
    })
  })
}

/** The page of an error, with a link to the page itself. */
function failed(frame: Frame, message: string): string {
  return notice(frame, 'That did not work', message, [{ text: 'Open the page again', href: '' }])
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
  for (const [name, value] of new URLSearchParams(body)) {
    if (name.trim().toLowerCase() === 'list-unsubscribe' && isOneClickValue(value)) return true
  }
  const lines = body.split(/\r?\n/)
  const header = lines.findIndex((line) => ONE_CLICK_PART.test(line))
  const end = header === -1 ? -1 : lines.indexOf('', header)
  return end !== -1 && isOneClickValue(lines[end + 1] ?? '')
}

function isOneClickValue(text: string): boolean {
  return text.trim().toLowerCase() === 'one-click'
}

/** Whether a body is the form of the button to subscribe again. No mail program sends it. */
function isAgain({ body }: FastifyRequest): boolean {
  return typeof body === 'string' && new URLSearchParams(body).get(SUBSCRIBE) === AGAIN
}

function tokenOf({ params }: FastifyRequest): string {
  return (params as { token: string }).token
}

function unknown(): SvcError {
  return new SvcError('not_found', 'There is no such link')
}

/** Asks for a click, because programs that scan mails open links too. The form posts to the page's own URL. */
function unsubscribeForm(
  frame: Frame,
  { workspace_name, masked_address }: UnsubscribeLink,
): string {
  return plainPage(frame, {
    title: 'Unsubscribe',
    body: `<p>After the click, ${escapeHtml(workspace_name)} will send no more e-mail to ${escapeHtml(masked_address)}.</p>
<form method="post" accept-charset="utf-8">
<input type="hidden" name="List-Unsubscribe" value="One-Click">
<button>Unsubscribe</button>
</form>`,
  })
}

/** The page of a recipient who gets no e-mail, with a button to subscribe again soon after the click. */
function unsubscribed(
  frame: Frame,
  { workspace_name, masked_address, may_undo }: UnsubscribeLink,
): string {
  const next = may_undo
    ? `<p class="quiet">Was it a mistake? For one day you can subscribe again here.</p>
<form method="post" accept-charset="utf-8">
<button class="quiet" name="${SUBSCRIBE}" value="${AGAIN}">Subscribe again</button>
</form>`
    : '<p class="quiet">To get its e-mail again, ask the sender.</p>'
  return plainPage(frame, {
    title: 'Unsubscribed',
    body: `<p>${escapeHtml(workspace_name)} sends no more e-mail to ${escapeHtml(masked_address)}.</p>
${next}`,
  })
}

function subscribed(frame: Frame, { workspace_name, masked_address }: UnsubscribeLink): string {
  return plainPage(frame, {
    title: 'Subscribed again',
    body: `<p>${escapeHtml(workspace_name)} may send e-mail to ${escapeHtml(masked_address)} again.</p>
<form method="post" accept-charset="utf-8">
<input type="hidden" name="List-Unsubscribe" value="One-Click">
<button class="quiet">Unsubscribe</button>
</form>`,
  })
}

function unknownLink(frame: Frame): string {
  return notice(
    frame,
    'Unknown link',
    'Open the complete link of the mail again. If it does not work either, ask the sender of the mail to remove your address.',
  )
}
