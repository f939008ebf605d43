import { Readable } from 'node:stream'
import type { DecodedCore } from '@svc/core/operate'
import type { Handlers } from '../routes/mount.ts'
import type { consoleMessages, messageHtml } from './message-endpoints.ts'

/** A shown mail runs no script, loads nothing and opens no link. Only its own styles and images are shown. */
const MAIL_CSP =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; " +
  "frame-ancestors 'self'; sandbox"

/** The handlers of messages and bulks as the console shows them. */
export function consoleMessageHandlers({
  messages,
}: DecodedCore): Handlers<typeof consoleMessages> {
  return {
    search: ({ viewer, query }) => messages.search(viewer, query),
    bulks: ({ viewer, query }) => messages.bulks.list(viewer, { ...query, offset: 0 }),
  }
}

/** The handler that shows the HTML of an e-mail in a frame. */
export function messageHtmlHandlers({ messages }: DecodedCore): Handlers<typeof messageHtml> {
  return {
    async get({ viewer, params, reply }) {
      const { content } = await messages.get(viewer, params.id)
      reply.header('content-type', 'text/html; charset=utf-8')
      reply.header('content-security-policy', MAIL_CSP)
      reply.header('x-dns-prefetch-control', 'off')
      reply.header('referrer-policy', 'no-referrer')
      return Readable.from([('html' in content && content.html) || ''], { objectMode: false })
    },
  }
}
