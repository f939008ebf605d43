import { PassThrough, Readable } from 'node:stream'
import { SvcError } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Admission } from '../admission/admission.ts'
import type { ConsoleAccess } from '../console-api/access.ts'
import { tooBusy } from '../failures.ts'
import { addPageHeaders, serveHandler } from '../pages/page.ts'
import { type Handlers, mount } from '../routes/mount.ts'
import { devEndpoints } from './endpoints.ts'
import { isLocal } from './local-only.ts'
import { createMails } from './mails.ts'
import { conversationOf } from './phone.ts'
import type { RequestLog } from './request-log.ts'

/** The options of the tools of `svc dev`. */
export interface DevToolsOptions {
  /** The demo's API key and its workspace; null before they exist. */
  demo?: (() => Demo | null) | undefined
}

/** The workspace and the key of `svc dev`. */
export interface Demo {
  workspace_id: string
  api_key: string
}

/**
 * A shown mail runs no script and loads nothing: only its own styles and images are shown. Its links open in new tabs, which
 * are not sandboxed.
 */
const MAIL_CSP =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; " +
  "frame-ancestors 'self'; sandbox allow-popups allow-popups-to-escape-sandbox"

/** A file of a mail is only saved, or shown as text. */
const FILE_CSP = "default-src 'none'; frame-ancestors 'none'; sandbox"

/**
 * Serves the data of the console's tools, which show mails of all owners and the requests of all clients. Only browsers on this
 * machine reach them; any other client gets 404.
 */
export function serveDevTools(
  app: FastifyInstance,
  admission: Admission,
  parts: {
    core: DecodedCore
    access: ConsoleAccess
    requests: RequestLog
    brand: string
    public_url(): string
  } & DevToolsOptions,
): void {
  const { access } = parts
  mount(app, admission, devEndpoints, handlersOf(app, parts), {
    console: { ...access, chooses_by_query: true },
    only: isLocal,
  })
  const old = { path: '/dev', rate: 'exempt', only: isLocal } as const
  serveHandler(app, admission, old, async (_, reply) =>
    reply.redirect(`.${access.base}/tools`, 302),
  )
}

function handlersOf(
  app: FastifyInstance,
  {
    core,
    requests,
    brand,
    public_url,
    demo = () => null,
  }: Omit<Parameters<typeof serveDevTools>[2], 'access'>,
): Handlers<typeof devEndpoints> {
  const mails = createMails(core, { brand, public_url })
  const streams = createStreams()
  app.addHook('preClose', async () => streams.close())
  return {
    start({ workspace_id }) {
      const found = demo()
      return { api_key: found?.workspace_id === workspace_id ? found.api_key : null }
    },
    mails: async ({ viewer }) => ({ mails: await mails.list(viewer) }),
    mail: ({ viewer, params }) => mails.get(viewer, params.id),
    async mail_page({ viewer, params, reply }) {
      const html = await mails.page(viewer, params.id)
      addPageHeaders(reply, MAIL_CSP)
      reply.header('x-dns-prefetch-control', 'off')
      return sent(reply, 'text/html; charset=utf-8', Buffer.from(html))
    },
    async mail_source({ viewer, params, reply }) {
      const source = await mails.source(viewer, params.id)
      addPageHeaders(reply, FILE_CSP)
      return sent(reply, 'text/plain; charset=utf-8', source)
    },
    async attachment({ viewer, params, reply }) {
      const { name, content } = await mails.attachment(viewer, params.id, params.index)
      addPageHeaders(reply, FILE_CSP)
      const encoded = encodeURIComponent(name.toWellFormed())
      reply.header('content-disposition', `attachment; filename*=UTF-8''${encoded}`)
      return sent(reply, 'application/octet-stream', content)
    },
    phone: async ({ viewer, params }) => ({
      items: await conversationOf(core, viewer, params.number),
    }),
    requests: async () => ({ requests: await requests.list() }),
    async request({ params }) {
      const request = await requests.get(params.id)
      if (!request) throw new SvcError('not_found', 'Request not found')
      return { request }
    },
    async reply({ viewer, body }) {
      await core.received.simulate(viewer, body)
      return {}
    },
    stream({ reply }) {
      const stream = streams.open((send) => {
        const leave = [
          requests.onRequest((line) => send('request', line)),
          core.mails.onMail(({ id }) => send('mail', { id: String(id) })),
        ]
        return () => {
          for (const stop of leave) stop()
        }
      })
      reply.header('content-type', 'text/event-stream; charset=utf-8')
      return stream
    },
  }
}

function sent(reply: FastifyReply, type: string, content: Buffer): Readable {
  reply.header('content-type', type)
  return Readable.from([content])
}

/** Far below the five minutes after which browsers and proxies close a silent connection. */
const HEARTBEAT_MS = 15_000
/** How long a browser waits before it connects again. */
const RETRY_MS = 1_000
const STREAMS_MAX = 32
/** A stream with more unread bytes is closed. Its client then connects again and reads everything. */
const UNREAD_MAX_BYTES = 4_194_304

interface Streams {
  /**
   * Opens a stream of server-sent events, until either side ends the stream. `begin` gets the function that sends an event, and
   * returns a function to call at the end.
   * @throws SvcError if the maximum number of streams is open.
   */
  open(begin: (send: Send) => () => void): Readable
  close(): void
}

/** Sends one event, as JSON. */
type Send = (event: string, data: unknown) => void

function createStreams(heartbeat_ms = HEARTBEAT_MS): Streams {
  const streams = new Set<PassThrough>()

  return {
    open(begin) {
      if (streams.size >= STREAMS_MAX) throw tooBusy()
      const stream = new PassThrough()
      const write = (text: string) => {
        if (stream.writableLength > UNREAD_MAX_BYTES) stream.destroy()
        else if (stream.writable) stream.write(text)
      }
      streams.add(stream)
      write(`retry: ${RETRY_MS}\n\n`)
      const heartbeat = setInterval(() => write(': still here\n\n'), heartbeat_ms)
      const end = begin((event, data) =>
        write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`),
      )
      stream.once('close', () => {
        streams.delete(stream)
        clearInterval(heartbeat)
        end()
      })
      return stream
    },
    close() {
      for (const stream of streams) stream.end()
    },
  }
}
