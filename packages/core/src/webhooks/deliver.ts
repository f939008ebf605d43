import { Agent, type buildConnector, type Dispatcher, request } from 'undici'
import { LIMITS } from '../contract/limits.ts'
import { sign } from '../contract/signing/signature.ts'
import { turnOfLoop, WEBHOOK_KEEP_ALIVE } from '../kept-connections.ts'
import { createTargetGuard, FORBIDDEN, type TargetPolicy } from './target.ts'

/** One try of a delivery, as it goes to the thread that makes it. Plain data. */
export interface DeliverJob {
  delivery_id: string
  event_id: string
  event: string
  url: string
  /** Signs the single-value headers. */
  secret: string
  /** While a rotation overlaps: signs besides, and instead where the first one is refused. */
  other_secret: string | null
  headers: Record<string, string>
  body: string
  attempt: number
}

/** What the receiver answered, or why it did not. Plain data. */
export interface DeliverAnswer {
  started_at_ms: number
  duration_ms: number
  response_status: number | null
  response_body: string | null
  error: string | null
  retry_after_ms: number | null
  /** Whether this answers the try that was signed with the other secret. */
  used_other_secret: boolean
}

/** What a receiver says to a signature it does not know. Source: interface, Webhook signing; contract section 12. */
const REFUSES_SIGNATURE: readonly (number | null)[] = [401, 403]

/** Past what is kept, so much more is read to keep the connection; beyond it the connection is cheaper to lose. */
const DRAIN_BYTES = 64 * 1024

export interface Deliverer {
  /** Signs and posts each job; positional answers. Rejects only where it was closed meanwhile. */
  deliver(jobs: readonly DeliverJob[]): Promise<DeliverAnswer[]>
  /** Ends what is under way, of which nothing is known then. */
  close(): Promise<void>
}

/**
 * One pool of keep-alive connections for each origin, to allowed addresses alone. Redirects are not followed, proxies of
 * the environment not used, answers not decompressed.
 */
export function createDeliverer({
  now,
  targets,
}: {
  now: () => Date
  targets: TargetPolicy
}): Deliverer {
  const { deadline_ms = LIMITS.webhook_deadline_ms } = targets
  const agent = new Agent({
    // As many as are in flight: the lane bounds that for each webhook, and whoever waited for a stranger's connection
    // would use up his own deadline.
    connections: null,
    pipelining: 1,
    ...WEBHOOK_KEEP_ALIVE,
    connect: noting(createTargetGuard(targets).connect),
  })
  const send = (job: DeliverJob) => post(job, { agent, now, deadline_ms })
  let closed = false
  return {
    async deliver(jobs) {
      const answers = await Promise.all(jobs.map((job) => deliverOne(job, send)))
      // That we hung up is no answer of the receiver's.
      if (closed) throw new Error('closed while deliveries were under way')
      return answers
    },
    async close() {
      closed = true
      await agent.destroy()
    },
  }
}

/** One try; what is refused for its signature is sent once more, signed with the other secret. */
async function deliverOne(
  job: DeliverJob,
  send: (job: DeliverJob) => Promise<DeliverAnswer>,
): Promise<DeliverAnswer> {
  const first = await send(job)
  const { secret, other_secret } = job
  if (other_secret === null || !REFUSES_SIGNATURE.includes(first.response_status)) return first
  const other = { ...job, secret: other_secret, other_secret: secret }
  const second = await send(other)
  return {
    ...second,
    started_at_ms: first.started_at_ms,
    duration_ms: first.duration_ms + second.duration_ms,
    used_other_secret: true,
  }
}

async function post(
  job: DeliverJob,
  { agent, now, deadline_ms }: { agent: Dispatcher; now: () => Date; deadline_ms: number },
): Promise<DeliverAnswer> {
  const at = now()
  const began = performance.now()
  const done = (answer: Partial<DeliverAnswer>): DeliverAnswer => ({
    started_at_ms: at.getTime(),
    duration_ms: Math.round(performance.now() - began),
    response_status: null,
    response_body: null,
    error: null,
    retry_after_ms: null,
    used_other_secret: false,
    ...answer,
  })
  // One deadline over connect, headers and body: undici's own time-outs each begin anew with every byte.
  const deadline = new AbortController()
  const timer = setTimeout(() => deadline.abort(), deadline_ms)
  const headers = { ...job.headers, ...ownHeaders(job, at) }
  const { url, body } = job
  const respond = async () => {
    await turnOfLoop()
    return request(url, {
      dispatcher: agent,
      method: 'POST',
      headers,
      body,
      signal: deadline.signal,
    })
  }
  try {
    const response = await respond().catch((error) => {
      if (deadline.signal.aborted || !wasKept(error)) throw error
      return respond()
    })
    const response_body = await capture(response.body)
    return done({
      response_status: response.statusCode,
      response_body,
      retry_after_ms: retryAfterMs(response.statusCode, response.headers['retry-after'], now()),
    })
  } catch (error) {
    return done({ error: deadline.signal.aborted ? 'timeout' : wordFor(error) })
  } finally {
    clearTimeout(timer)
  }
}

/** Notes on a socket's error how much had come from the receiver: undici tells it of some errors only. */
function noting(connect: buildConnector.connector): buildConnector.connector {
  return (options, done) =>
    connect(options, (...[error, socket]) => {
      if (error) return done(error, null)
      socket.prependListener('error', (failure: Failure) => {
        failure.socket ??= { bytesRead: socket.bytesRead }
      })
      done(null, socket)
    })
}

type Failure = Error & { code?: unknown; socket?: { bytesRead?: number } | null }

/**
 * Whether a try that got no answer failed on a connection that had served one before: receivers close what is idle, and
 * that is no failure of theirs. Such a try is made once more at once, which the receiver knows by `webhook-id`.
 */
function wasKept(error: unknown): boolean {
  const { socket } = (error ?? {}) as Failure
  return wordFor(error) === 'reset' && (socket?.bytesRead ?? 0) > 0
}

function ownHeaders(job: DeliverJob, at: Date): Record<string, string> {
  const { secret, other_secret, body, event, event_id, delivery_id, attempt } = job
  return {
    'content-type': 'application/json',
    'user-agent': 'Svc-Webhooks/1',
    ...sign({
      secret,
      previous_secret: other_secret,
      body,
      event,
      event_id,
      delivery_id,
      attempt,
      at,
    }),
  }
}

/** Keeps the first bytes of an answer, as text; reads a little on, so that the connection can be used again. */
async function capture(body: Dispatcher.ResponseData['body']): Promise<string> {
  const chunks: Buffer[] = []
  let read = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    if (read < LIMITS.webhook_capture_bytes) chunks.push(chunk)
    read += chunk.length
    if (read > DRAIN_BYTES) break
  }
  const kept = Buffer.concat(chunks).subarray(0, LIMITS.webhook_capture_bytes)
  // The answer is a stranger's: what no database can keep as text is replaced.
  return kept.toString('utf8').replaceAll('\0', '\ufffd')
}

/** `Retry-After` of a 429 or 503, as seconds or as a date. */
function retryAfterMs(
  status: number,
  header: string | string[] | undefined,
  now: Date,
): number | null {
  if ((status !== 429 && status !== 503) || typeof header !== 'string') return null
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000
  const date = Date.parse(header)
  return Number.isNaN(date) ? null : Math.max(0, date - now.getTime())
}

const WORDS: Record<string, string> = {
  [FORBIDDEN]: 'blocked_target',
  ECONNREFUSED: 'connect',
  ENETUNREACH: 'connect',
  EHOSTUNREACH: 'connect',
  ETIMEDOUT: 'connect',
  UND_ERR_CONNECT_TIMEOUT: 'connect',
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  ESERVFAIL: 'dns',
  EREFUSED: 'dns',
  ETIMEOUT: 'dns',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  UND_ERR_SOCKET: 'reset',
}

function wordFor(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code
  if (typeof code !== 'string') return 'failed'
  if (code in WORDS) return WORDS[code] ?? 'failed'
  return /CERT|TLS|SSL/.test(code) ? 'tls' : 'failed'
}
