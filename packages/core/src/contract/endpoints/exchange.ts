import { type ErrorDetail, INTERNAL_ERROR_TEXT, isErrorCode, SvcError } from '../errors.ts'
import type { Auth, HttpMethod } from './endpoint.ts'
import type { Failure } from './envelope.ts'

/** The service and the credentials. An endpoint that accepts both kinds of credentials gets the token. */
export interface ClientOptions {
  /** The address of the service without `/api/v1`, for example `https://svc.example.com`. */
  base_url: string
  api_key?: string | undefined
  token?: string | undefined
  /** Sends the requests. Default: the global `fetch`. */
  fetch?: Fetch | undefined
}

/** Sends one request. The global `fetch` has this type; another function needs only the parts that the client uses. */
export type Fetch = (
  url: string,
  init: { method: string; headers: Record<string, string>; body?: string; signal?: AbortSignal },
) => Promise<FetchedAnswer>

/** The part of a `Response` that the client uses. */
export interface FetchedAnswer extends Pick<Response, 'url' | 'ok' | 'status' | 'json'> {
  readonly headers: Pick<Headers, 'get'>
}

/** Options of one call. */
export interface CallOptions {
  idempotency_key?: string | undefined
  signal?: AbortSignal | undefined
}

/** A request without the address of the service. */
interface Request {
  method: HttpMethod
  /** The path with its parameters and its query. */
  path: string
  auth: Auth
  /** JSON. */
  body?: string | undefined
}

/**
 * Sends one request and returns the JSON of a successful answer, or null if it is not JSON. This module loads no schema,
 * because the schemas need more CPU than everything else of a command that sends one message.
 * @throws SvcError that the server sent, SvcError `internal_error` for another answer, or the error of `fetch`.
 */
export async function exchange(
  options: ClientOptions,
  { method, path, auth, body }: Request,
  { idempotency_key, signal }: CallOptions,
): Promise<unknown> {
  const headers = {
    ...credentials(options, auth),
    ...(idempotency_key !== undefined && { 'idempotency-key': idempotency_key }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
  }
  const init = { method, headers, ...(body !== undefined && { body }) }
  const url = options.base_url.replace(/(?<!\/)\/+$/, '') + path
  const response = await (options.fetch ?? fetch)(url, { ...init, ...(signal && { signal }) })
  const answer = await jsonOf(response)
  if (!response.ok) throw refusal(response, answer)
  return answer
}

/** The error for an answer that the API does not describe. */
export function unexpectedAnswer(path: string, cause?: unknown): SvcError {
  const message = `The server's answer is not what ${path} promises`
  return new SvcError('internal_error', message, { cause })
}

function credentials({ api_key, token }: ClientOptions, auth: Auth) {
  const bearer = token !== undefined && { authorization: `Bearer ${token}` }
  const key = api_key !== undefined && { 'x-api-key': api_key }
  if (auth === 'none') return {}
  if (auth === 'jwt') return bearer
  if (auth === 'api_key') return key
  return bearer || key
}

async function jsonOf(response: FetchedAnswer): Promise<unknown> {
  try {
    return await response.json()
  } catch {
    // A proxy may answer with any text; the caller still gets the status.
    return null
  }
}

function refusal(response: FetchedAnswer, answer: unknown): SvcError {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  const retry_after_s = Number.isFinite(seconds) ? seconds : undefined
  const failure = failureOf(answer)
  if (!failure) {
    const cause = new Error(`${response.url} answered ${response.status}`)
    return new SvcError('internal_error', INTERNAL_ERROR_TEXT, { retry_after_s, cause })
  }
  const { error, message, details } = failure
  if (error === 'validation_error') {
    return new SvcError(error, message, { details: details ?? [{ path: '', message }] })
  }
  return new SvcError(error, message, { details, retry_after_s })
}

/** The body of a failure; null for any other body. */
function failureOf(body: unknown): Failure | null {
  const { success, error, message, details } = (body ?? {}) as Record<string, unknown>
  if (success !== false || !isErrorCode(error) || typeof message !== 'string') return null
  if (details === undefined) return { success, error, message }
  return isDetails(details) ? { success, error, message, details } : null
}

function isDetails(value: unknown): value is ErrorDetail[] {
  const isDetail = (one: Partial<ErrorDetail> | null) =>
    typeof one?.path === 'string' && typeof one.message === 'string'
  return Array.isArray(value) && value.every(isDetail)
}
