import { api } from '../api.ts'
import type { Args, Data, Endpoint } from './endpoint.ts'
import { type CallOptions, type ClientOptions, exchange, unexpectedAnswer } from './exchange.ts'

export type { CallOptions, ClientOptions, Fetch, FetchedAnswer } from './exchange.ts'

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
  more: CallOptions,
): Promise<unknown> {
  const { method, auth } = endpoint
  const answer = await exchange(options, { method, auth, ...pathAndBody(endpoint, args) }, more)
  const data = endpoint.enveloped ? (answer as { data?: unknown } | null)?.data : answer
  const result = endpoint.data.safeParse(data)
  if (!result.success) throw unexpectedAnswer(endpoint.path, result.error)
  return result.data
}

function pathAndBody(endpoint: Endpoint, args: Record<string, unknown>) {
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
  return { path: `${path}${search}`, body }
}

function queryText(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value)
}
