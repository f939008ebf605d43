import type { DecodedCore } from '@svc/core/operate'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { maskedJson, maskedPath, maskedText } from './masked.ts'
import type { RequestLine, WholeRequest } from './wire.ts'

/** The last requests to the API, in memory. */
export interface RequestLog {
  /** The last requests, newest first. */
  list(): RequestLine[]
  /** A request with its bodies; undefined if it is not among the last ones. */
  get(id: number): WholeRequest | undefined
  /** Calls the listener with each new request. Returns a function that ends these calls. */
  onRequest(listener: (line: RequestLine) => void): () => void
}

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
  const kept: WholeRequest[] = []
  const answers = new WeakMap<FastifyRequest, string>()
  const listeners = new Set<(line: RequestLine) => void>()
  const names = new Map<string, string>()
  let count = 0

  async function nameOf({ svcIdentity: identity }: FastifyRequest): Promise<string | null> {
    if (!identity) return null
    if (identity.kind !== 'api_key') return identity.kind
    const { workspace_id, api_key_id } = identity
    const known = names.get(api_key_id)
    if (known !== undefined) return known
    const { api_keys } = await core.apiKeys.list(workspace_id, { limit: 100, offset: 0 })
    if (names.size > NAMES_MAX) names.clear()
    for (const { id, name } of api_keys) names.set(id, name)
    return names.get(api_key_id) ?? api_key_id
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
    // A database that fails for a moment must not lose the line.
    const key = await nameOf(request).catch(() => null)
    count += 1
    const one: WholeRequest = {
      id: count,
      at,
      request_id,
      method,
      path: maskedPath(url),
      status,
      duration_ms: Math.round(elapsedTime * 10) / 10,
      key,
      error: status >= 400 ? errorOf(parsed) : null,
      request_body: isJson(body) ? maskedJson(body) : null,
      response_body: answerText(answer, parsed),
    }
    kept.unshift(one)
    if (kept.length > KEPT_MAX) kept.pop()
    for (const listener of listeners) listener(lineOf(one))
  })

  return {
    list: () => kept.map(lineOf),
    get: (id) => kept.find((one) => one.id === id),
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
