import { readdirSync } from 'node:fs'
import {
  api,
  CHANNELS,
  invalid,
  MESSAGE_STATUSES,
  SvcError,
  workspaceSummary,
} from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Admission } from '../admission/admission.ts'
import { PAGE_CSP, packageFile, serveHandler, servePage } from '../pages/page.ts'
import { isLocal } from './local-only.ts'
import { messageRow, wholeMessage } from './message-row.ts'
import { createStreams } from './streams.ts'
import { createWatch, WATCHED_MAX } from './watch.ts'

export interface InboxOptions {
  /** The demo's API key and its workspace; null before they exist. */
  demo?: (() => Demo | null) | undefined
}

export interface Demo {
  workspace_id: string
  api_key: string
}

const PAGE_LENGTH = 100
const WORKSPACES_MAX = 1_000

const INBOX_CSP = `${PAGE_CSP}; frame-src 'self'`

/** A shown mail runs no script, loads nothing and opens no link. Only its own styles and images are shown. */
const MAIL_CSP =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; " +
  "frame-ancestors 'self'; sandbox"

type Read = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown> | unknown

/**
 * The dev inbox at `/dev`, which shows the messages of all workspaces. It takes no credential, so only this machine can
 * reach it; any other client gets 404.
 */
export function serveInbox(
  app: FastifyInstance,
  admission: Admission,
  core: DecodedCore,
  { demo = () => null }: InboxOptions,
): void {
  const shared = { rate: 'exempt', only: isLocal } as const
  for (const name of readdirSync(packageFile('@svc/server', 'dev'))) {
    const path = name === 'inbox.html' ? '/dev' : `/dev/${name}`
    const file = packageFile('@svc/server', `dev/${name}`)
    servePage(app, admission, { ...shared, path, file, csp: INBOX_CSP })
  }
  const read = (path: string, handler: Read) =>
    serveHandler(app, admission, { ...shared, path }, async (request, reply) => {
      reply.header('content-type', 'application/json; charset=utf-8')
      return JSON.stringify(await handler(request, reply))
    })
  const readMail = (path: string, handler: (request: FastifyRequest) => Promise<string> | string) =>
    serveHandler(app, admission, { ...shared, path, csp: MAIL_CSP }, async (request, reply) => {
      reply.header('content-type', 'text/html; charset=utf-8')
      reply.header('x-dns-prefetch-control', 'off')
      return handler(request)
    })

  read('/dev/api/workspaces', async () => {
    const workspaces = await core.workspaces.list({ limit: WORKSPACES_MAX, offset: 0 })
    return { demo: demo(), workspaces: workspaces.map((one) => workspaceSummary.encode(one)) }
  })
  read('/dev/api/messages', async ({ query }) => {
    const { messages, total, next_cursor } = await core.messages.list(textOf(query, 'workspace'), {
      page: 1,
      limit: PAGE_LENGTH,
      channel: oneOf(CHANNELS, query, 'channel'),
      // The specification's list of statuses has no `read`, but rows may have this status.
      status: oneOf(MESSAGE_STATUSES, query, 'status') as 'sent' | undefined,
      cursor: textOf(query, 'cursor') || undefined,
    })
    return { messages: messages.map(messageRow), total, next_cursor }
  })
  read('/dev/api/messages/:id', async ({ query, params }) => {
    const of = [textOf(query, 'workspace'), textOf(params, 'id')] as const
    const message = wholeMessage(await core.messages.get(...of))
    const [timeline, deliveries] = await Promise.all([
      core.messages.timeline(...of),
      core.webhooks.ofMessage(...of),
    ])
    return { message, ...api.messages.timeline.data.encode({ timeline }), deliveries }
  })
  readMail('/dev/api/messages/:id/html', async ({ query, params }) => {
    const message = await core.messages.get(textOf(query, 'workspace'), textOf(params, 'id'))
    return ('html' in message.content && message.content.html) || ''
  })
  read('/dev/api/mails', () => ({ mails: core.mails.list() }))
  readMail('/dev/api/mails/:id/html', ({ params }) => {
    const mail = core.mails.list().find(({ id }) => String(id) === textOf(params, 'id'))
    if (!mail) throw new SvcError('not_found', 'Mail not found')
    return mail.html
  })
  serveStream(app, admission, core, shared)
}

/** Streams the changes of a workspace's messages, and the service's own mails. */
function serveStream(
  app: FastifyInstance,
  admission: Admission,
  core: DecodedCore,
  shared: { rate: 'exempt'; only: typeof isLocal },
): void {
  const streams = createStreams()
  const watch = createWatch(core, (error) =>
    app.log.warn({ err: error }, 'the inbox could not read messages'),
  )
  app.addHook('preClose', async () => {
    streams.close()
    watch.close()
  })
  serveHandler(app, admission, { ...shared, path: '/dev/api/stream' }, async ({ query }, reply) => {
    const workspaceId = textOf(query, 'workspace')
    return streams.open(reply, (send) => {
      send('begin', { watched_max: WATCHED_MAX })
      const leave = [
        watch.subscribe(workspaceId, (changes) => send('messages', changes)),
        core.mails.onMail((mail) => send('mail', mail)),
      ]
      return () => {
        for (const stop of leave) stop()
      }
    })
  })
}

function textOf(input: unknown, name: string): string {
  const value = (input as Record<string, unknown>)[name]
  return typeof value === 'string' ? value : ''
}

function oneOf<T extends string>(known: readonly T[], input: unknown, name: string): T | undefined {
  const value = textOf(input, name)
  if (value === '' || known.includes(value as T)) return (value || undefined) as T | undefined
  throw invalid(name, `${name} must be one of: ${known.join(', ')}`)
}
