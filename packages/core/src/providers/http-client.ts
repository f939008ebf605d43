import {
  type ConnectorOptions,
  createConnector,
  createHttpClient,
  type HttpAnswer,
  type HttpCall,
  type HttpClient,
  type HttpClientOptions,
  type HttpResponse,
} from '../http/client.ts'
import { CONNECTIONS } from './common-settings.ts'

/** The result of a call to a provider. */
export type ProviderAnswer =
  | Exclude<HttpAnswer, HttpResponse>
  /** A body above `body_max` is truncated and its `json` is undefined. A body with a `content-encoding` is left out. */
  | {
      type: 'answered'
      status: number
      /** Names are lower-case. */
      headers: Record<string, string>
      body: string
      /** The parsed body, with any content type; undefined if the body is not JSON. */
      json: unknown
    }

export type Answered = Extract<ProviderAnswer, { type: 'answered' }>

/** Whether the request was not begun, although nothing shows that the provider cannot be reached. */
export function isNotBegun(answer: ProviderAnswer): boolean {
  return answer.type === 'not_sent' && (answer.code === 'paused' || answer.code === 'busy')
}

export interface ProviderClient extends Pick<HttpClient, 'close'> {
  /** Never rejects. */
  call(call: HttpCall): Promise<ProviderAnswer>
}

export type ProviderClientOptions = Omit<ConnectorOptions, 'lookup'> &
  Partial<
    Pick<HttpClientOptions, 'deadline_ms' | 'body_max' | 'connections' | 'may_start' | 'on_call'>
  >

/**
 * The HTTP client of a provider; its defaults are 15 s, 256 KB and `CONNECTIONS`. It repeats no request, because the peer
 * may have accepted the message. A call that has no connection in the rest of 20 s (at most `deadline_ms`) is `not_sent`; the time of
 * the answer begins with the first byte of the request.
 */
export function createProviderClient({
  deadline_ms = 15_000,
  body_max = 256 * 1024,
  connections = CONNECTIONS,
  may_start,
  on_call,
  ...options
}: ProviderClientOptions = {}): ProviderClient {
  const client = createHttpClient({
    connect: createConnector(options),
    deadline_ms,
    wait_ms: Math.min(deadline_ms, CALL_MAX_MS - deadline_ms),
    body_max,
    connections,
    may_start,
    on_call,
    // Shorter than the idle limit of usual servers, so that no request meets a connection that the server is closing.
    idle_ms: 500,
  })
  return {
    async call(call) {
      const headers = { 'user-agent': 'Svc/1', ...lowerCase(call.headers), ...IDENTITY }
      const answer = await client.call({ ...call, headers })
      return answer.type === 'answered' ? readAnswer(answer) : answer
    },
    close: client.close,
  }
}

/** A provider answers each call within this time: see `Provider`. The longest deadline is 18 s. */
const CALL_MAX_MS = 20_000

const IDENTITY = { 'accept-encoding': 'identity' }

function lowerCase(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, text]) => [name.toLowerCase(), text]),
  )
}

function readAnswer({ type, status, headers: fields, ...read }: HttpResponse): ProviderAnswer {
  const headers = Object.fromEntries(
    Object.entries(fields).map(([name, value = '']) => [name, [value].flat().join(', ')]),
  )
  const { 'content-encoding': encoding = 'identity' } = headers
  if (!['', 'identity'].includes(encoding.trim().toLowerCase())) {
    return { type, status, headers, body: '', json: undefined }
  }
  const body = new TextDecoder().decode(read.body)
  return { type, status, headers, body, json: read.is_whole ? parsed(body) : undefined }
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}
