import type { DecodedCore } from '@svc/core/operate'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Identity } from '../admission/authenticator.ts'
import type { RequestLine, WholeRequest } from './dev-answers.ts'

/** The last requests to the API, in memory. */
export interface RequestLog {
  /** The last requests, newest first. */
  list(): Promise<RequestLine[]>
  /** A request with its bodies; undefined if it is not among the last ones. */
  get(id: number): Promise<WholeRequest | undefined>
  /** Calls the listener with each new request. Returns a function that ends these calls. */
  onRequest(listener: (line: RequestLine) => void): () => void
}

/**
 * A request as it is kept. The name of its key is looked up for the person who looks at the log: the query would start two reader
 * threads of 20 MB with the first request.
 */
type Kept = Omit<WholeRequest, 'key'> & { identity: Identity | null }

const KEPT_MAX = 500

/** A longer answer is not parsed, because that takes time. */
const PARSED_MAX = 64_000

/** Names of keys are few; more would be a fault. */
const NAMES_MAX = 1_000

/** Keeps the last requests to the API and its doors. The pages of the console are left out. */
export function createRequestLog(
  app: FastifyInstance,
  {
    core,
    now = Date.now,
  }: { core: Pick<DecodedCore, 'apiKeys'>; now?: (() => number) | undefined },
): RequestLog {
  const kept: Kept[] = []
  const answers = new WeakMap<FastifyRequest, string>()
  const listeners = new Set<(line: RequestLine) => void>()
  const names = new Map<string, string>()
  let count = 0

  async function nameOf(identity: Identity | null): Promise<string | null> {
    if (!identity) return null
    if (identity.kind !== 'api_key') return identity.kind
    const { workspace_id, api_key_id } = identity
    const known = names.get(api_key_id)
    if (known !== undefined) return known
    const { api_keys } = await core.apiKeys.list(workspace_id, { limit: 100, offset: 0 })
    if (names.size > NAMES_MAX) names.clear()
    // Of many keys, the list has only the newest.
    names.set(api_key_id, api_key_id)
    for (const { id, name } of api_keys) names.set(id, name)
    return names.get(api_key_id) ?? api_key_id
  }

  async function shown({ identity, ...request }: Kept): Promise<WholeRequest> {
    // A database that fails for a moment must not lose the line.
    return { ...request, key: await nameOf(identity).catch(() => null) }
  }

  app.addHook('onSend', (request, _, payload, done) => {
    if (isLogged(request) && typeof payload === 'string') answers.set(request, payload)
    done()
  })
  app.addHook('onResponse', async (request, { statusCode: status, elapsedTime }) => {
    if (!isLogged(request)) return
    const at = new Date(now() - elapsedTime).toISOString()
    const { id: request_id, method, url, body } = request
    const answer = answers.get(request)
    const parsed = answer === undefined ? undefined : parsedOf(answer)
    count += 1
    const one: Kept = {
      id: count,
      at,
      request_id,
      method,
      path: maskedPath(url),
      status,
      duration_ms: Math.round(elapsedTime * 10) / 10,
      identity: request.svcIdentity,
      error: status >= 400 ? errorOf(parsed) : null,
      request_body: isJson(body) ? maskedJson(body) : null,
      response_body: answerText(answer, parsed),
    }
    kept.unshift(one)
    if (kept.length > KEPT_MAX) kept.pop()
    if (listeners.size === 0) return
    const line = lineOf(await shown(one))
    for (const listener of listeners) listener(line)
  })

  return {
    async list() {
      const lines: RequestLine[] = []
      // One after the other, so that the names of all keys come from one query.
      for (const one of [...kept]) lines.push(lineOf(await shown(one)))
      return lines
    },
    async get(id) {
      const found = kept.find((one) => one.id === id)
      return found && shown(found)
    },
    onRequest(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

function isLogged({ url, routeOptions }: FastifyRequest): boolean {
  return routeOptions?.config?.console === undefined && /^\/(?:api|compat)\//.test(url)
}

function lineOf({ request_body: _, response_body: __, ...line }: WholeRequest): RequestLine {
  return line
}

function isJson(body: unknown): body is object {
  if (typeof body !== 'object' || body === null) return false
  return Array.isArray(body) || [Object.prototype, null].includes(Object.getPrototypeOf(body))
}

function parsedOf(text: string): unknown {
  if (text.length > PARSED_MAX) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function answerText(answer: string | undefined, parsed: unknown): string | null {
  if (answer === undefined) return null
  return parsed === undefined ? maskedText(answer) : maskedJson(parsed)
}

/** The error code of our API, or of a door: a name, or a number of Twilio. */
function errorOf(parsed: unknown): string | null {
  const { error, name, code } = (parsed ?? {}) as Record<string, unknown>
  const found = error ?? name ?? code
  return typeof found === 'string' || typeof found === 'number' ? String(found) : null
}

/** Fields that hold a secret, by their names in requests and answers. */
const SECRET_NAME = /password|secret|token|private_key|^api_key$|^key$|authorization/i

/** Secrets of the service in a text: API keys, webhook secrets, session tokens. */
const SECRET_TEXT = /\b(?:svc_[\w-]{8,}|whsec_[\w+/=-]{8,}|eyJhbGciOi[\w.-]*)/g

const MASK = '•••'

/** Limits of a shown body: more would fill the memory. */
const ITEMS_MAX = 50
const TEXT_MAX = 500
const BODY_MAX = 8_000
const DEPTH_MAX = 10

/** A body as indented JSON, with secrets masked and long parts cut. The work is bounded, however large the body is. */
function maskedJson(value: unknown): string {
  const room = { length: BODY_MAX }
  return JSON.stringify(maskedCopy(value, room, 0), null, 2) ?? ''
}

/** A text with its secrets masked, cut. */
function maskedText(text: string): string {
  return cut(text, BODY_MAX).replace(SECRET_TEXT, MASK)
}

/** A path whose query has its secrets masked. */
function maskedPath(url: string): string {
  const [path = '', query] = cut(url, TEXT_MAX).split('?', 2)
  if (query === undefined) return path
  const pairs = query.split('&').map((pair) => {
    const [name = ''] = pair.split('=', 1)
    return SECRET_NAME.test(name) ? `${name}=${MASK}` : pair
  })
  return `${path}?${pairs.join('&')}`.replace(SECRET_TEXT, MASK)
}

function maskedCopy(value: unknown, room: { length: number }, depth: number): unknown {
  if (room.length <= 0 || depth > DEPTH_MAX) return '…'
  room.length -= 8
  if (typeof value === 'string') {
    const text = cut(value, TEXT_MAX).replace(SECRET_TEXT, MASK)
    room.length -= text.length
    return text
  }
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const items = value.slice(0, ITEMS_MAX).map((item) => maskedCopy(item, room, depth + 1))
    return value.length > ITEMS_MAX ? [...items, `… ${value.length - ITEMS_MAX} more`] : items
  }
  const copy: Record<string, unknown> = {}
  let left = ITEMS_MAX
  for (const name in value) {
    if (!Object.hasOwn(value, name)) continue
    if (left === 0 || room.length <= 0) {
      copy['…'] = '…'
      break
    }
    left -= 1
    room.length -= name.length
    const inner = (value as Record<string, unknown>)[name]
    copy[cut(name, TEXT_MAX)] =
      SECRET_NAME.test(name) && typeof inner === 'string'
        ? MASK
        : maskedCopy(inner, room, depth + 1)
  }
  return copy
}

function cut(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max).toWellFormed()}…` : text
}
