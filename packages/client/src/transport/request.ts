import {
  AuthenticationError,
  ConnectionError,
  refusalOf,
  type SvcError,
  TimeoutError,
  UnexpectedAnswerError,
  ValidationError,
} from '../errors.ts'
import { type Connection, checkNumbers } from '../options.ts'
import type { FetchedAnswer, PlatformResponse } from '../platform.ts'
import type { CallOptions, WithResponse } from './call.ts'
import type { Endpoint } from './endpoint.ts'
import { backoffOf, retryAfterOf, wait } from './retry.ts'

/** The arguments of a call. */
export interface Args {
  readonly params: readonly string[]
  readonly query?: object | undefined
  readonly body?: unknown
}

/** The failure of one attempt. */
interface Failed {
  readonly error: SvcError
  readonly isTransient: boolean
  /** The wait that the server asks for in milliseconds; null for none. */
  readonly retryAfter: number | null
}

const RETRY_DELAY_MAX_MS = 60_000

/** An empty key would repeat a send, and the error of `fetch` for another character shows the key. */
const KEY = /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/

/**
 * Sends a request and repeats it after a network fault, 408, 429 and 5xx, except a POST without an idempotency key. An
 * answer that is not JSON comes from another server, so it is not repeated.
 * @throws SvcError, the reason of `signal`, or TypeError for options out of range.
 */
export async function request<T>(
  connection: Connection,
  endpoint: Endpoint,
  args: Args,
  options: CallOptions = {},
): Promise<WithResponse<T>> {
  const { maxRetries = connection.maxRetries, maxRetryDelay = RETRY_DELAY_MAX_MS, signal } = options
  checkNumbers({ maxRetries, timeout: options.timeout ?? connection.timeout })
  if (options.idempotencyKey !== undefined && !KEY.test(options.idempotencyKey)) {
    throw new TypeError('idempotencyKey must be 1 to 255 printable ASCII characters')
  }
  const url = connection.url + pathOf(endpoint, args.params) + searchOf(args.query)
  const key = endpoint.idempotent && (options.idempotencyKey ?? (maxRetries > 0 ? randomKey() : ''))
  const init = {
    method: endpoint.method,
    headers: {
      accept: 'application/json',
      ...credentialsOf(connection, endpoint),
      ...(key && { 'idempotency-key': key }),
      ...(endpoint.body && { 'content-type': 'application/json' }),
    } as Record<string, string>,
    ...(endpoint.body && { body: JSON.stringify(args.body) }),
  }
  const isRepeatable = endpoint.method !== 'POST' || Boolean(key)
  for (let attempt = 0; ; attempt++) {
    const ended = await attemptOnce<T>(connection, endpoint, { url, init }, options)
    if ('data' in ended) return ended
    const { error, isTransient, retryAfter } = ended
    const delay = retryAfter ?? backoffOf(attempt)
    if (!isTransient || !isRepeatable || attempt >= maxRetries || delay > maxRetryDelay) throw error
    await wait(delay, signal)
  }
}

async function attemptOnce<T>(
  connection: Connection,
  endpoint: Endpoint,
  { url, init }: { url: string; init: { method: string; headers: Record<string, string> } },
  { signal, timeout = connection.timeout }: CallOptions,
): Promise<WithResponse<T> | Failed> {
  if (signal?.aborted) throw signal.reason
  const ending = new AbortController()
  let isLate = false
  // A fetch that ignores its signal would never end.
  const aborted = new Promise<never>((_, reject) => {
    ending.signal.addEventListener('abort', () => reject(ending.signal.reason))
  })
  const abort = () => ending.abort(signal?.reason)
  const timer = setTimeout(() => {
    isLate = true
    ending.abort()
  }, timeout)
  signal?.addEventListener('abort', abort)
  try {
    const options = { ...init, signal: ending.signal, redirect: 'manual' as const }
    const exchange = async () => {
      const response = await connection.fetch(url, options)
      return { response, text: await response.text() }
    }
    const { response, text } = await Promise.race([exchange(), aborted])
    return answerOf(endpoint, connection, response, text)
  } catch (error) {
    if (signal?.aborted) throw signal.reason
    const failure = isLate
      ? new TimeoutError(`${connection.url} cannot be reached (no answer in ${timeout / 1000} s)`)
      : unreachable(connection.url, reasonOf(error, connection))
    return { error: failure, isTransient: true, retryAfter: null }
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

function answerOf<T>(
  endpoint: Endpoint,
  connection: Connection,
  response: FetchedAnswer,
  text: string,
): WithResponse<T> | Failed {
  const { status, headers } = response
  const requestId = headers.get('x-request-id')
  const facts = { status, requestId }
  const failed = (error: SvcError, more: Partial<Failed> = {}): Failed => ({
    error,
    isTransient: false,
    retryAfter: null,
    ...more,
  })
  // A browser shows a redirect as status 0.
  if (status === 0 || (status >= 300 && status < 400)) {
    const location = withoutSecrets(headers.get('location') ?? 'another address', connection)
    const reason = `redirects to ${location}`
    return failed(new ConnectionError(`${connection.url} ${reason}`, reason, facts))
  }
  const json = parsed(text)
  const unexpected = new UnexpectedAnswerError(
    'unexpected_answer',
    `${connection.url} answered ${nameOf(endpoint)} with status ${status} and a body that is not of this API`,
    facts,
  )
  if (json === undefined) return failed(unexpected)
  if (status >= 200 && status < 300) {
    const data = dataOf(endpoint, json)
    if (!data) return failed(unexpected)
    return { data: data as T, response: response as unknown as PlatformResponse, requestId }
  }
  const retryAfter = retryAfterOf(headers.get('retry-after'), Date.now())
  const seconds = retryAfter === null ? null : Math.ceil(retryAfter / 1000)
  const error = refusalOf(json, seconds, facts) ?? unexpected
  const isTransient = status === 408 || status === 429 || status >= 500
  return failed(error, { isTransient, retryAfter })
}

/**
 * The data of a success; null if another service answered. Only one field is checked: a check of all would refuse the
 * answers of an older service.
 */
function dataOf({ bare, list, has = '' }: Endpoint, json: unknown): object | null {
  const { success, data = null } = (json ?? {}) as { success?: unknown; data?: unknown }
  const found = (bare ? json : data) as Record<string, unknown> | null
  if ((!bare && success !== true) || typeof found !== 'object' || found === null) return null
  const isOurs = list === undefined ? found[has] != null : Array.isArray(found[list])
  return isOurs ? found : null
}

/** The JSON value of a text; undefined if the text is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The path with its parameters. A URL parser would resolve `.` and `..` and reach another endpoint. */
function pathOf({ path }: Endpoint, params: readonly string[]): string {
  let n = 0
  return path.replace(/:(\w+)/g, (_, name: string) => {
    const value = params[n++]
    if (typeof value !== 'string' || /^\.{0,2}$/.test(value)) {
      const message = `${name} must be an id`
      throw new ValidationError(message, [{ path: name, message }])
    }
    return encodeURIComponent(value)
  })
}

function searchOf(query: object = {}): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null) continue
    search.set(name, value instanceof Date ? value.toISOString() : String(value))
  }
  const text = search.toString()
  return text && `?${text}`
}

function credentialsOf({ apiKey, token }: Connection, endpoint: Endpoint): Record<string, string> {
  const { auth } = endpoint
  if (auth === 'none') return {}
  if (token !== undefined && auth !== 'api_key') return { authorization: `Bearer ${token}` }
  if (apiKey !== undefined && auth !== 'jwt') return { 'x-api-key': apiKey }
  const way = auth === 'jwt' ? 'token' : 'apiKey, or set SVC_API_KEY'
  throw new AuthenticationError(
    'unauthorized',
    `${nameOf(endpoint)} needs a credential: give ${way}`,
  )
}

function nameOf({ method, path }: Endpoint): string {
  return `${method} ${path}`
}

function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

function unreachable(url: string, reason: string): ConnectionError {
  return new ConnectionError(`${url} cannot be reached (${reason})`, reason)
}

/**
 * Why there was no answer: the code of the fault, else its text. Of a fault of the program's own `fetch` only the code or
 * the name is kept: its text may hold the whole request, with its key and its message.
 */
function reasonOf(error: unknown, connection: Connection): string {
  const { code, name, message, cause } = fieldsOf(error)
  const inner = fieldsOf(cause)
  const codes = [code, inner.code].filter((each) => CODE.test(String(each)))
  const texts = connection.isForeignFetch
    ? [NAME.exec(String(name))?.[0]]
    : [inner.message, message]
  const reason = [...codes, ...texts].find((each) => typeof each === 'string' && each !== '')
  return withoutSecrets(String(reason ?? 'no answer'), connection)
}

/** @example ECONNREFUSED */
const CODE = /^[A-Z][A-Z0-9_]{2,40}$/
/** @example TypeError */
const NAME = /^[A-Z][A-Za-z]{2,40}$/

function fieldsOf(error: unknown): { [name in 'code' | 'name' | 'message' | 'cause']?: unknown } {
  return (error ?? {}) as object
}

function withoutSecrets(text: string, { apiKey, token }: Connection): string {
  for (const secret of [apiKey, token]) if (secret) text = text.replaceAll(secret, '…')
  return text
}
