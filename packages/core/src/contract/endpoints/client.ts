import { api } from '../api.ts'
import { INTERNAL_ERROR_TEXT, SvcError } from '../errors.ts'
import type { Args, Data, Endpoint } from './endpoint.ts'
import { failureEnvelope } from './envelope.ts'

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

type Call<E> =
  Record<never, never> extends Args<E>
    ? (args?: Args<E>, options?: CallOptions) => Promise<Data<E>>
    : (args: Args<E>, options?: CallOptions) => Promise<Data<E>>

type ClientOf<A> = { readonly [G in keyof A]: { readonly [N in keyof A[G]]: Call<A[G][N]> } }

/** A method for every endpoint of the API. */
export type Client = ClientOf<typeof api>

/**
 * Creates a client with a typed method for each endpoint. A method takes one flat object (path parameters, query and body)
 * and returns the decoded data: instants are Dates, amounts are `Units`. A method throws the SvcError that the server sent,
 * SvcError `internal_error` if the answer does not belong to this API, and the error of `fetch` if there is no answer.
 *
 * @example
 * const client = createClient({ base_url: 'http://127.0.0.1:3000', api_key: 'svc_…' })
 * await client.messages.send({ channel: 'sms', to: '+14155552671', content: { text: 'Hi' } })
 */
export function createClient(options: ClientOptions): Client {
  const groups = Object.entries<Record<string, Endpoint>>(api).map(([group, endpoints]) => [
    group,
    Object.fromEntries(
      Object.entries(endpoints).map(([name, endpoint]) => [
        name,
        (args: Record<string, unknown> = {}, more: CallOptions = {}) =>
          call(options, endpoint, args, more),
      ]),
    ),
  ])
  // `Client` has the groups and endpoints of `api`.
  return Object.fromEntries(groups) as Client
}

async function call(
  options: ClientOptions,
  endpoint: Endpoint,
  args: Record<string, unknown>,
  { idempotency_key, signal }: CallOptions,
): Promise<unknown> {
  const { url, body } = urlAndBody(options.base_url, endpoint, args)
  const headers = {
    ...credentials(options, endpoint),
    ...(idempotency_key !== undefined && { 'idempotency-key': idempotency_key }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
  }
  const init = { method: endpoint.method, headers, ...(body !== undefined && { body }) }
  const response = await (options.fetch ?? fetch)(url, { ...init, ...(signal && { signal }) })
  const answer = await jsonOf(response)
  if (!response.ok) throw refusal(response, answer)
  const data = endpoint.enveloped ? (answer as { data?: unknown } | null)?.data : answer
  const result = endpoint.data.safeParse(data)
  if (result.success) return result.data
  const message = `The server's answer is not what ${endpoint.path} promises`
  throw new SvcError('internal_error', message, { cause: result.error })
}

function urlAndBody(baseUrl: string, endpoint: Endpoint, args: Record<string, unknown>) {
  const rest = { ...args }
  const path = endpoint.path.replace(/:(\w+)/g, (_, name: string) => {
    const value = rest[name]
    delete rest[name]
    return encodeURIComponent(String(value))
  })
  const query = new URLSearchParams()
  for (const name of Object.keys(endpoint.query?.shape ?? {})) {
    const value = rest[name]
    delete rest[name]
    if (value !== undefined) query.set(name, queryText(value))
  }
  const search = query.size > 0 ? `?${query}` : ''
  const body = endpoint.body ? JSON.stringify(rest) : undefined
  return { url: `${baseUrl.replace(/(?<!\/)\/+$/, '')}${path}${search}`, body }
}

function queryText(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value)
}

function credentials({ api_key, token }: ClientOptions, { auth }: Endpoint) {
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
  const envelope = failureEnvelope.safeParse(answer)
  if (!envelope.success) {
    const cause = new Error(`${response.url} answered ${response.status}`)
    return new SvcError('internal_error', INTERNAL_ERROR_TEXT, { retry_after_s, cause })
  }
  const { error, message, details } = envelope.data
  if (error === 'validation_error') {
    return new SvcError(error, message, { details: details ?? [{ path: '', message }] })
  }
  return new SvcError(error, message, { details, retry_after_s })
}
