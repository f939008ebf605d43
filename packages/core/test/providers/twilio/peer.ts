import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { CallbackRequest } from '../../../src/contract/outside/provider.ts'
import { settings as schema, type TwilioSettings } from '../../../src/providers/twilio/settings.ts'
import { signedForm, statusFields } from './callbacks.ts'
import { type Account, type ApiError, callError, messageError } from './requests.ts'
import { createResourceStore, type Resource, type Taken } from './resources.ts'

/** What the peer does with a request for a recipient; `answer` replaces Twilio's own answer. */
export type Play =
  | { type: 'accept' }
  | { type: 'hang' | 'drop' }
  | {
      type: 'answer'
      status: number
      body: unknown
      headers?: Record<string, string>
      takes?: boolean
    }

/** A POST that the peer has read to its end. */
export interface Posted {
  kind: Taken['kind']
  form: URLSearchParams
  /** The resource that was created; null if the peer refused it. */
  taken: Taken | null
}

export interface TwilioPeer {
  url: string
  account: Account
  /** The settings of this provider for `SVC_PROVIDERS`. */
  settings(more?: Partial<TwilioSettings>): TwilioSettings
  posted(): readonly Posted[]
  taken(): readonly Taken[]
  /** Adds a resource that was created earlier, by any client. */
  add(kind: Taken['kind'], form: URLSearchParams): Taken
  /**
   * Sets the templates of the account, with the states of their approvals; null: it was never requested. Default: those of the settings,
   * approved.
   */
  hasContents(contents: readonly { sid: string; language: string; approval: object | null }[]): void
  /** Sets the answer to every GET, or to those of one path; null restores the peer's own answers. */
  readsAnswer(answer: { status: number; body: unknown } | 'never' | null, path?: string): void
  /** Sets what the peer does with requests for this recipient. */
  plays(recipient: string, play: Play): void
  /** Changes the status of a resource. Returns the callback request, or null if the resource has no callback address. */
  advance(
    taken: Taken,
    news: { status: string; code?: number; duration_s?: number },
  ): CallbackRequest | null
  changeToken(): void
  connections(): number
  refuse(): Promise<void>
  close(): Promise<void>
}

const SMS_SENDER = '+15550100001'
const SERVICE = `MG${'5'.repeat(32)}`

const ACCOUNT: Account = {
  account_sid: `AC${'0123456789abcdef'.repeat(2)}`,
  auth_token: 'fedcba9876543210'.repeat(2),
  numbers: [SMS_SENDER, '+15550100002'],
  whatsapp: ['+15550100003'],
  services: [SERVICE],
}

/** The path of the templates. */
export const CONTENTS_PATH = '/v1/ContentAndApprovals'

const CONTENT_SIDS = {
  'order_ready:en': `HX${'a'.repeat(32)}`,
  order_ready: `HX${'b'.repeat(32)}`,
}

const DATE_NAMES = { Messages: 'date_sent', Calls: 'start_time' } as const
const BODY_MAX = 64 * 1024

/** Twilio's REST API for one account, on loopback: it keeps what it accepts, and shows it as Twilio does. */
export async function startTwilioPeer({
  now = () => new Date(),
  onTaken = () => {},
}: {
  now?: () => Date
  onTaken?: (taken: Taken) => void
} = {}): Promise<TwilioPeer> {
  const account = { ...ACCOUNT }
  const store = createResourceStore(account.account_sid, now)
  const posted: Posted[] = []
  const plays = new Map<string, Play>()
  const sockets = new Set<Socket>()
  const base = `/2010-04-01/Accounts/${account.account_sid}`
  let contents: Parameters<TwilioPeer['hasContents']>[0] = Object.values(CONTENT_SIDS).map(
    (sid) => ({ sid, language: 'en', approval: { name: 'order_ready', status: 'approved' } }),
  )
  let reads: Parameters<TwilioPeer['readsAnswer']>[0] = null
  let readPath: string | undefined

  const server = createServer((request, response) => {
    void handle(request, response)
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://peer')
    const body = await bodyOf(request)
    if (!isAuthorized(request, account)) {
      answerError(response, { status: 401, code: 20003, message: 'Authenticate' })
    } else if (request.method === 'POST') {
      post(url.pathname, request.headers['content-type'] ?? '', body, response)
    } else if (!reads || (readPath !== undefined && url.pathname !== readPath)) get(url, response)
    else if (reads !== 'never') json(response, reads.status, reads.body)
  }

  function get(url: URL, response: ServerResponse): void {
    if (url.pathname === `${base}.json`) {
      json(response, 200, { sid: account.account_sid, status: 'active', type: 'Full' })
      return
    }
    if (url.pathname === CONTENTS_PATH) {
      json(response, 200, contentPage(url))
      return
    }
    const [, name, sid] = /^\/(Messages|Calls)(?:\/(\w+))?\.json$/.exec(below(url.pathname)) ?? []
    if (name !== 'Messages' && name !== 'Calls') notFound(url, response)
    else if (sid === undefined)
      json(response, 200, store.page(name, url.pathname, url.searchParams))
    else {
      const one = store.find(name, sid)
      if (one) json(response, 200, one.resource)
      else notFound(url, response)
    }
  }

  /** Twilio names its own host in the address of the next page. Source: Twilio, Content API. */
  function contentPage({ pathname, searchParams }: URL): object {
    const size = Number(searchParams.get('PageSize') ?? 50)
    const page = Number(searchParams.get('Page') ?? 0)
    const next = `https://content.twilio.com${pathname}?PageSize=${size}&Page=${page + 1}`
    const shown = contents.slice(page * size, (page + 1) * size)
    return {
      meta: {
        ...{ page, page_size: size, key: 'contents' },
        next_page_url: (page + 1) * size < contents.length ? next : null,
      },
      contents: shown.map(({ sid, language, approval }) => ({
        ...{ sid, language, account_sid: account.account_sid, friendly_name: 'order' },
        ...{ variables: {}, types: { 'twilio/text': { body: 'Hi' } } },
        date_created: '2026-05-04T09:00:00Z',
        date_updated: '2026-05-04T09:00:00Z',
        approval_requests: approval ?? {},
      })),
    }
  }

  function post(path: string, content_type: string, body: string, response: ServerResponse): void {
    const [, kind] = /^\/(Messages|Calls)\.json$/.exec(below(path)) ?? []
    if (kind !== 'Messages' && kind !== 'Calls') {
      notFound({ pathname: path }, response)
      return
    }
    const is_form = content_type.startsWith('application/x-www-form-urlencoded')
    const form = new URLSearchParams(is_form ? body : '')
    const refusal = kind === 'Calls' ? callError(form, account) : messageError(form, account)
    const to = (form.get('To') ?? '').replace(/^whatsapp:/, '')
    const play: Play = refusal ? answerFor(refusal) : (plays.get(to) ?? { type: 'accept' })
    const takes = play.type === 'answer' ? play.takes === true : true
    const taken = takes ? store.add(kind, form) : null
    posted.push({ kind, form, taken })
    if (taken) onTaken(taken)
    if (play.type === 'answer') json(response, play.status, play.body, play.headers)
    else if (play.type === 'accept') json(response, 201, taken?.resource)
    else if (play.type === 'drop') response.socket?.destroy()
  }

  function below(path: string): string {
    return path.startsWith(`${base}/`) ? path.slice(base.length) : ''
  }

  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
  })
  const url = `http://127.0.0.1:${port}`
  const refuse = async () => {
    const closed = new Promise((resolve) => server.close(resolve))
    for (const socket of sockets) socket.destroy()
    await closed
  }
  return {
    url,
    account,
    settings: (more = {}) =>
      schema.parse({
        name: 'twilio',
        type: 'twilio',
        account_sid: account.account_sid,
        auth_token: account.auth_token,
        senders: {
          sms: [SMS_SENDER, SERVICE],
          whatsapp: account.whatsapp,
          voice: account.numbers,
        },
        content_sids: CONTENT_SIDS,
        api_url: url,
        ...more,
      }),
    posted: () => posted,
    taken: () => store.all(),
    add: store.add,
    hasContents: (given) => {
      contents = given
    },
    readsAnswer: (answer, path) => {
      reads = answer
      readPath = path
    },
    plays: (recipient, play) => {
      plays.set(recipient, play)
    },
    advance: (taken, news) => advance(taken, news, account, now()),
    changeToken: () => {
      account.auth_token = '0'.repeat(32)
    },
    connections: () => sockets.size,
    refuse,
    close: refuse,
  }
}

function advance(
  taken: Taken,
  { status, code, duration_s }: { status: string; code?: number; duration_s?: number },
  { auth_token }: Account,
  at: Date,
): CallbackRequest | null {
  const changes: Resource = { status, date_updated: at.toUTCString() }
  if (status !== 'queued') changes[DATE_NAMES[taken.kind]] = at.toUTCString()
  if (code !== undefined) changes.error_code = code
  if (duration_s !== undefined) changes.duration = String(duration_s)
  Object.assign(taken.resource, changes)
  const url = taken.form.get('StatusCallback')
  const news = {
    status,
    ...(code !== undefined && { code }),
    ...(duration_s !== undefined && { duration_s }),
  }
  return url === null ? null : signedForm(auth_token, url, statusFields(taken, news))
}

function isAuthorized({ headers }: IncomingMessage, account: Account): boolean {
  const [scheme, credentials = ''] = (headers.authorization ?? '').split(' ')
  const decoded = Buffer.from(credentials, 'base64').toString()
  return scheme === 'Basic' && decoded === `${account.account_sid}:${account.auth_token}`
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size <= BODY_MAX) chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** The body of an error of Twilio. */
export function errorBody({ status, code, message }: ApiError): object {
  return { code, message, more_info: `https://www.twilio.com/docs/errors/${code}`, status }
}

function answerFor(error: ApiError): Play {
  return { type: 'answer', status: error.status, body: errorBody(error) }
}

function answerError(response: ServerResponse, error: ApiError): void {
  json(response, error.status, errorBody(error))
}

function notFound({ pathname }: { pathname: string }, response: ServerResponse): void {
  const message = `The requested resource ${pathname} was not found`
  answerError(response, { status: 404, code: 20404, message })
}

function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  // Not awaited: alone.ts imports this module, and the two would wait for each other.
  void import('./alone.ts').then(({ runAlone }) => runAlone(process.argv[2]))
}
