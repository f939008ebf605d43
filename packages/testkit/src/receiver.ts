import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { EventKind, WireEventData } from '@svc/core/contract'
import { type VerificationResult, verify } from '@svc/core/webhooks'
import {
  cameAgain,
  contentOf,
  deliveriesOf,
  type ReceivedDelivery,
  type ReceivedRequest,
} from './received.ts'
import { type ReceiverStep, take } from './receiver-steps.ts'
import { createWaiting, type WaitOptions } from './waiting.ts'

/** A request that was waited for by the kind of its event. */
export interface ReceivedEvent<Kind extends EventKind> extends ReceivedRequest {
  event: Kind
  data: WireEventData<Kind> & Record<string, unknown>
}

/** How a receiver behaves. */
export interface ReceiverOptions {
  /** Asked for at each request where it is a function, for the secret is known only once the webhook exists. */
  secret: string | readonly string[] | (() => string | readonly string[])
  /** What it does with the first requests; after them it answers 200 to what verifies and 403 to what does not. */
  script?: readonly ReceiverStep[]
  /** How many requests it keeps, the newest; 1,000 unless told. */
  keep_max?: number
  /** Where the sender's clock is not the real one. */
  now?: () => Date
}

/** A receiver that runs. */
export interface TestReceiver {
  /** Where to point the webhook. */
  readonly url: string
  /** Everything received, oldest first. */
  readonly requests: readonly ReceivedRequest[]
  /** The events among them that verified, in the order in which they first came. */
  readonly deliveries: readonly ReceivedDelivery[]
  /** The deliveries that came again after a 2xx: what a receiver must handle only once. */
  readonly duplicates: readonly ReceivedDelivery[]
  /** Adds steps to those that are left. */
  answer(...steps: ReceiverStep[]): void
  /** The first request, past or future, that verifies and has the event; rejects after `timeout_ms`, 5 s unless told. */
  waitFor<Kind extends EventKind>(event: Kind, options?: WaitOptions): Promise<ReceivedEvent<Kind>>
  /** The first request, past or future, that `matches`, whether or not it verifies. */
  waitFor(
    matches: (request: ReceivedRequest) => boolean,
    options?: WaitOptions,
  ): Promise<ReceivedRequest>
  /** Forgets what was received. */
  clear(): void
  /** Cuts what is open, and resolves once the port is free. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

const KEEP_MAX = 1000
const BODY_MAX_BYTES = 1024 * 1024

/**
 * A real HTTP server on a free port of this machine, that verifies and keeps what comes and answers by its script.
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
      return deliveriesOf(requests).filter(cameAgain)
    },
    answer: (...more) => void steps.push(...more),
    waitFor: waiting.waitFor,
    clear: () => void requests.splice(0),
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** The body, or null when the sender left before its end. */
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

/** Closing again is no error, and waits for the same. */
function closed(server: Server): Promise<void> {
  const done = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeAllConnections()
  return done
}
