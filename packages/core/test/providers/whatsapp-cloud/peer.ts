import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import {
  settings,
  type WhatsappCloudSettings,
} from '../../../src/providers/whatsapp-cloud/settings.ts'
import {
  errorBody,
  faultOfBody,
  type MetaError,
  type MetaMessage,
  type MetaNumber,
  type MetaRequest,
  type MetaTemplate,
  NUMBERS,
} from './requests.ts'
import { metaJson } from './webhooks.ts'

/** A fault of a call. `drop_before` and `drop_after` close the connection before and after Meta acts; `raw` is an answer of a proxy. */
export type MetaFault =
  | { type: 'error'; status: number; code: number; subcode?: number; headers?: Headers }
  | { type: 'raw'; status: number; body: string; headers?: Headers; is_taken?: boolean }
  | 'drop_before'
  | 'drop_after'
  | 'hang_after'

type Headers = Record<string, string>

/** A test Meta with the Cloud API, which keeps the messages that it accepts. */
export interface MetaPeer {
  /** The value of `api_url`, without a slash at the end. */
  url: string
  numbers: readonly MetaNumber[]
  templates: MetaTemplate[]
  /** Every call, also those with faults. */
  requests: MetaRequest[]
  /** The accepted messages, in order. */
  accepted: MetaMessage[]
  /** Gives each of the next calls one of these faults; null for none. */
  fail(...faults: (MetaFault | null)[]): void
  /** Gives every message to this recipient a fault. */
  meet(to: string, fault: MetaFault): void
  /** Makes every access token invalid. */
  revoke(): void
  /** Refuses connections from now on and ends the open ones. */
  refuse(): Promise<void>
  /** How many connections are open. */
  connections(): number
  /** The settings of a provider for this peer. */
  settings(changes?: Partial<WhatsappCloudSettings>): WhatsappCloudSettings
  close(): Promise<void>
}

export interface MetaPeerOptions {
  numbers?: readonly MetaNumber[]
  access_token?: string
  onMessage?: (message: MetaMessage) => void
}

/** The business account of the numbers. */
export const ACCOUNT = '102290129340398'

/** The templates of one answer, fewer than the request allows: a list has several pages. */
const PAGE = 2

export const APP_SECRET = '0123456789abcdef0123456789abcdef'
export const VERIFY_TOKEN = 'chosen-by-the-operator'

const TEMPLATES: readonly MetaTemplate[] = [
  { name: 'hello_world', language: 'en_US', body: 0 },
  { name: 'order_update', language: 'en_US', body: 2 },
  { name: 'order_named', language: 'sw', body: ['first_name', 'order_id'] },
  { name: 'login_code', language: 'en_US', body: 1, button: true },
  { name: 'headed', language: 'en_US', body: 1, header: 1 },
]

interface Answer {
  status: number
  body: string
  headers?: Headers
}

/** Starts a test Meta on a port that the system chooses. */
export async function startMetaPeer({
  numbers = NUMBERS,
  access_token = 'EAAlocal',
  onMessage = () => {},
}: MetaPeerOptions = {}): Promise<MetaPeer> {
  const requests: MetaRequest[] = []
  const accepted: MetaMessage[] = []
  const templates = [...TEMPLATES]
  const faults: (MetaFault | null)[] = []
  const faultsByRecipient = new Map<unknown, MetaFault>()
  const sockets = new Set<Socket>()
  let isRevoked = false

  function take(request: MetaRequest, from: MetaNumber, body: Record<string, unknown>): Answer {
    const to = `+${String(body.to).replace('+', '')}`
    const wamid = `wamid.HBgL${Buffer.from(`${to}:${randomUUID()}`).toString('base64')}`
    const { type, biz_opaque_callback_data: opaque } = body
    const message: MetaMessage = {
      wamid,
      phone_number_id: from.phone_number_id,
      to,
      type: String(type),
      body,
      opaque: typeof opaque === 'string' ? opaque : null,
    }
    request.taken = message
    accepted.push(message)
    onMessage(message)
    return json(200, {
      messaging_product: 'whatsapp',
      contacts: [{ input: body.to, wa_id: to.slice(1) }],
      messages: [{ id: wamid, ...(type === 'template' && { message_status: 'accepted' }) }],
    })
  }

  function answerTo(request: MetaRequest): Answer {
    const { method, path, headers, body } = request
    if (isRevoked || headers.authorization !== `Bearer ${access_token}`) {
      return failed({ status: 401, code: 190, message: 'Error validating access token' })
    }
    const [, account, query] = /^\/v\d+\.\d+\/(\d+)\/message_templates\?(.*)$/.exec(path) ?? []
    if (method === 'GET' && account === ACCOUNT) return listed(new URLSearchParams(query))
    const [, id, edge] = /^\/v\d+\.\d+\/(\d+)(\/messages)?(?:\?.*)?$/.exec(path) ?? []
    const from = numbers.find(({ phone_number_id }) => phone_number_id === id)
    if (!from) {
      const message = `Object with ID '${id}' does not exist or cannot be loaded`
      return failed({ status: 400, code: 100, subcode: 33, message })
    }
    if (method === 'GET' && edge === undefined) return json(200, shownOf(from))
    if (method !== 'POST' || edge === undefined) {
      return failed({ status: 400, code: 3, message: 'Unsupported request' })
    }
    const content = parsed(body)
    const fault = faultOfBody(content, { from, templates })
    return fault ? failed(fault) : take(request, from, content as Record<string, unknown>)
  }

  /** A page of the templates. The address of the next page has the token, and a host that must not get it. */
  function listed(query: URLSearchParams): Answer {
    const from = Number(query.get('after') ?? 0)
    const end = from + PAGE
    const data = templates
      .slice(from, end)
      .map(({ name, language, status = 'APPROVED', rejected_reason = 'NONE' }, i) => ({
        ...{ name, language, status, rejected_reason },
        id: `${from + i}`,
      }))
    const next = { next: `https://graph.example/next?access_token=${access_token}` }
    const cursors = { before: `${from}`, after: `${end}` }
    return json(200, { data, paging: { cursors, ...(end < templates.length && next) } })
  }

  async function onRequest(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const { method = '', url: path = '', headers } = incoming
    const body = Buffer.concat(chunks).toString('utf8')
    const request: MetaRequest = { method, path, headers, body, taken: null }
    requests.push(request)
    const fault = faults.shift() ?? faultsByRecipient.get(recipientOf(body)) ?? null
    if (fault === 'drop_before') return void incoming.socket.destroy()
    const answer = fault === null ? answerTo(request) : faultyAnswer(fault, () => answerTo(request))
    if (fault === 'drop_after') return void incoming.socket.destroy()
    if (fault === 'hang_after') return
    const type = { 'content-type': 'application/json; charset=UTF-8' }
    response.writeHead(answer.status, { ...type, ...answer.headers }).end(answer.body)
  }

  const server = createServer((incoming, response) => {
    // The client has closed the connection.
    onRequest(incoming, response).catch(() => response.destroy())
  })
  // Longer than the client's idle limit, so that the server never closes a connection that the client reuses.
  server.keepAliveTimeout = 60_000
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  const close = async () => {
    if (!server.listening) return
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    numbers,
    templates,
    requests,
    accepted,
    fail: (...more) => void faults.push(...more),
    meet: (to, fault) => void faultsByRecipient.set(to, fault),
    revoke: () => {
      isRevoked = true
    },
    refuse: close,
    connections: () => sockets.size,
    settings: (changes = {}) =>
      settings.parse({
        type: 'whatsapp_cloud',
        name: 'wa',
        access_token,
        app_secret: APP_SECRET,
        verify_token: VERIFY_TOKEN,
        senders: [...numbers],
        api_url: url,
        ...changes,
      }),
    close,
  }
}

function faultyAnswer(fault: MetaFault, act: () => Answer): Answer {
  if (typeof fault === 'string') return act()
  if (fault.type === 'error') {
    const { status, code, subcode, headers = {} } = fault
    const message = 'Meta repeats +14155550100 "the secret contents"'
    const body = metaJson(errorBody({ code, message, ...(subcode !== undefined && { subcode }) }))
    return { status, body, headers }
  }
  if (fault.is_taken) act()
  return fault
}

function json(status: number, value: object): Answer {
  return { status, body: metaJson(value) }
}

function failed({ status, ...error }: MetaError): Answer {
  return json(status, errorBody(error))
}

/** A number in Meta's display format. */
function shownOf({ number, phone_number_id }: MetaNumber): object {
  const display_phone_number = number.replace(/^(\+\d)(\d{3})(\d{3})(\d+)$/, '$1 $2-$3-$4')
  return { display_phone_number, id: phone_number_id }
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return null
  }
}

function recipientOf(body: string): unknown {
  const message = parsed(body)
  return typeof message === 'object' && message !== null && 'to' in message ? message.to : null
}
