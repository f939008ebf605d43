import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { EventKind, WireEventData } from '@svc/core/contract'
import { type VerificationResult, verify } from '@svc/core/webhooks'
import {
  contentOf,
  deliveriesOf,
  isRepeated,
  type ReceivedDelivery,
  type ReceivedRequest,
} from './received.ts'
import { type ReceiverStep, take } from './receiver-steps.ts'
import { createWaiting, type WaitOptions } from './waiting.ts'

/** A request with an event of the kind for which `waitFor` waited. */
export interface ReceivedEvent<Kind extends EventKind> extends ReceivedRequest {
  event: Kind
  data: WireEventData<Kind> & Record<string, unknown>
}

/** Options of `createReceiver`. */
export interface ReceiverOptions {
  /** The webhook's secret, or a function that returns the secret and is called at each request. */
  secret: string | readonly string[] | (() => string | readonly string[])
  /**
   * Answers to the first requests. After the script, a valid signature gets 200 and an invalid
   * signature 403.
   */
  script?: readonly ReceiverStep[]
  /** The number of newest requests to keep; default: 1,000. */
  keep_max?: number
  /** The current time. Set it if the sender's clock does not show the real time. */
  now?: () => Date
}

/** A running receiver. */
export interface TestReceiver {
  /** The URL for the webhook. */
  readonly url: string
  /** The received requests, oldest first. */
  readonly requests: readonly ReceivedRequest[]
  /** The verified events of the requests, in the order of their first arrival. */
  readonly deliveries: readonly ReceivedDelivery[]
  /** The deliveries that were repeated after a 2xx. A receiver must handle each only once. */
  readonly duplicates: readonly ReceivedDelivery[]
  /** Adds steps to the end of the script. */
  answer(...steps: ReceiverStep[]): void
  /**
   * Returns the first request, past or future, that verifies and has the event. Rejects after
   * `timeout_ms` (default: 5 s).
   */
  waitFor<Kind extends EventKind>(event: Kind, options?: WaitOptions): Promise<ReceivedEvent<Kind>>
  /** Returns the first request, past or future, for which `matches` is true, verified or not. */
  waitFor(
    matches: (request: ReceivedRequest) => boolean,
    options?: WaitOptions,
  ): Promise<ReceivedRequest>
  /** Removes all stored requests. */
  clear(): void
  /** Closes open connections. Resolves when the port is free. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

const KEEP_MAX = 1000
const BODY_MAX_BYTES = 1024 * 1024

/**
 * Starts an HTTP server on a free port of this machine. It verifies and stores each request and
 * answers as its script says.
 *
 * @example
 * await using receiver = await createReceiver({ secret, script: [500, { status: 429, retry_after: 2 }, 'timeout', 200] })
 * await createSender({ secret, deadline_ms: 100 }).deliver(receiver.url, fixture('message.delivered'))
 * receiver.deliveries[0].attempts.map(({ status }) => status) // [500, 429, null, 200]
 */
export async function createReceiver(options: ReceiverOptions): Promise<TestReceiver> {
  const { secret, script = [], keep_max = KEEP_MAX, now = () => new Date() } = options
  const requests: ReceivedRequest[] = []
  const steps = [...script]
  const waiting = createWaiting(requests)

  function check(request: IncomingMessage, body: Buffer): VerificationResult {
    const trusted = typeof secret === 'function' ? secret() : secret
    return verify({ secret: trusted, body, headers: request.headers, now: now() })
  }

  const server = createServer(async (request, response) => {
    const body = await read(request)
    if (!body) return
    const verification = check(request, body.bytes)
    const { headers, method = '', url: path = '' } = request
    const seen = { verification, ...contentOf(body.bytes), method, path, headers, at: now() }
    const kept: ReceivedRequest = { ...seen, body: body.bytes, status: null }
    requests.push(kept)
    if (requests.length > keep_max) requests.shift()
    const usual = verification.ok ? 200 : 403
    kept.status = take(steps.shift() ?? (body.is_too_large ? 413 : usual), response)
    waiting.look()
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve)
  })
  const close = () => closed(server)

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    requests,
    get deliveries() {
      return deliveriesOf(requests)
    },
    get duplicates() {
      return deliveriesOf(requests).filter(isRepeated)
    },
    answer: (...more) => void steps.push(...more),
    waitFor: waiting.waitFor,
    clear: () => void requests.splice(0),
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Reads the body; null if the sender disconnected before the end of the body. */
async function read(
  request: IncomingMessage,
): Promise<{ bytes: Buffer; is_too_large: boolean } | null> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size <= BODY_MAX_BYTES) chunks.push(chunk)
    }
  } catch {
    return null
  }
  const is_too_large = size > BODY_MAX_BYTES
  return { bytes: is_too_large ? Buffer.alloc(0) : Buffer.concat(chunks), is_too_large }
}

/** Closes the server. A second call waits for the same close. */
function closed(server: Server): Promise<void> {
  const done = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeAllConnections()
  return done
}
