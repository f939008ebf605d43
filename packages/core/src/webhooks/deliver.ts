import { retryAfterMs } from '../contract/fields/retry-after.ts'
import { LIMITS } from '../contract/limits.ts'
import type { WebhookFormatName } from '../contract/resources/webhooks.ts'
import {
  createHttpClient,
  type HttpClient,
  type HttpFailure,
  type HttpResponse,
} from '../http/client.ts'
import type { FormattedAttempt } from '../rules/formats/format.ts'
import { FORMATS } from '../rules/formats/formats.ts'
import { isSuccess } from '../rules/record.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { DELIVERY_OUTCOMES, type DeliveryOutcome } from '../runtime/telemetry.ts'
import type { TargetPolicy } from './target.ts'
import { createTargetConnector } from './target-connector.ts'

/** One attempt of a delivery: plain data that is sent to the thread that makes the attempt. */
export interface DeliverJob extends FormattedAttempt {
  format: WebhookFormatName
  /** The webhook's own headers. */
  headers: Record<string, string>
}

/** The answer of the receiver, or the reason why there is no answer. Plain data. */
export interface DeliverAnswer {
  started_at_ms: number
  duration_ms: number
  response_status: number | null
  response_body: string | null
  error: string | null
  retry_after_ms: number | null
  /** Whether `response_body` is TwiML with replies to the message of the delivery, or the beginning of such an answer. */
  twiml: 'whole' | 'too_long' | null
  /** Whether this is the answer to the request that the other secret signed. */
  used_other_secret: boolean
  /** The address of the last connection to the host; null if there was none. */
  address?: string | null
}

/** The statuses of a refused signature. Source: interface, Webhook signing; contract section 12. */
const REFUSES_SIGNATURE: readonly (number | null)[] = [401, 403]

/** Answers are read up to this size so that their connection can be used again; beyond it, a new connection is cheaper. */
const DRAIN_BYTES = 64 * 1024

/** The hosts whose addresses are remembered. */
const ADDRESSES_MAX = 5_000

export interface Deliverer {
  /**
   * Signs and posts each job; the answers have the order of the jobs. The answer is null if the request was not begun,
   * because `may_start` answered false. Rejects only if `close` was called meanwhile.
   */
  deliver(jobs: readonly DeliverJob[]): Promise<(DeliverAnswer | null)[]>
  /** Ends the requests in flight; their results are unknown. */
  close(): Promise<void>
}

/**
 * Connects to allowed addresses only. Does not follow redirects, use proxies of the environment or decompress answers.
 */
export function createDeliverer({
  now,
  targets,
  may_start,
  network,
}: {
  now: () => Date
  targets: TargetPolicy
  /** Takes the requests in place of connections. */
  network?: Runtime['network']
  /** Whether a request may begin now; asked right before each. Default: each may begin. */
  may_start?: () => boolean
}): Deliverer {
  /** The hosts by their names, the last connected last. */
  const addresses = new Map<string, string>()
  function noteAddress(hostname: string, address: string): void {
    addresses.delete(hostname)
    addresses.set(hostname, address)
    const [oldest] = addresses.keys()
    if (addresses.size > ADDRESSES_MAX && oldest !== undefined) addresses.delete(oldest)
  }
  const client = createHttpClient({
    connect: createTargetConnector(targets, noteAddress),
    deadline_ms: targets.deadline_ms ?? LIMITS.webhook_deadline_ms,
    body_max: LIMITS.webhook_capture_bytes,
    drain_max: DRAIN_BYTES,
    // The lane limits the deliveries in flight for each webhook. A wait for a connection would use up the deadline.
    connections: null,
    // The time is longer than for providers, because a TLS handshake costs more than a repeated delivery.
    idle_ms: 4_000,
    // Receivers recognise a repeated delivery by `webhook-id`.
    repeats: true,
    // Any 2xx acknowledges, whatever becomes of its body.
    takes_cut: true,
    may_start,
    network,
  })
  const send = async (job: DeliverJob): Promise<DeliverAnswer | null> => {
    const answer = await post(job, { client, now })
    if (answer) answer.address = addresses.get(new URL(job.url).hostname) ?? null
    return answer
  }
  let closed = false
  return {
    async deliver(jobs) {
      const answers = await Promise.all(jobs.map((job) => deliverOne(job, send)))
      // A connection that we closed says nothing about the receiver.
      if (closed) throw new Error('closed while deliveries were in flight')
      return answers
    },
    async close() {
      closed = true
      await client.close()
    },
  }
}

/** One attempt; a request that is refused for its signature is sent once more, signed with the other secret. */
async function deliverOne(
  job: DeliverJob,
  send: (job: DeliverJob) => Promise<DeliverAnswer | null>,
): Promise<DeliverAnswer | null> {
  const first = await send(job)
  const { secret, other_secret } = job
  if (first === null || other_secret === null || !REFUSES_SIGNATURE.includes(first.response_status))
    return first
  const other = { ...job, secret: other_secret, other_secret: secret }
  const second = await send(other)
  if (second === null) return first
  return {
    ...second,
    started_at_ms: first.started_at_ms,
    duration_ms: first.duration_ms + second.duration_ms,
    used_other_secret: true,
  }
}

async function post(
  job: DeliverJob,
  { client, now }: { client: HttpClient; now: () => Date },
): Promise<DeliverAnswer | null> {
  const at = now()
  const began = performance.now()
  const { method = 'POST', url = job.url, body, headers } = FORMATS[job.format].request(job, at)
  const answer = await client.call({
    method,
    url,
    headers: Object.assign({}, job.headers, OWN_HEADERS, headers),
    ...(body !== undefined && { body }),
  })
  if (answer.type === 'not_sent' && answer.code === 'paused') return null
  const twiml = answer.type === 'answered' ? twimlIn(job, answer) : null
  // Replies that arrived in part are sent with the next attempt.
  const is_answered = answer.type === 'answered' && !(twiml && answer.is_cut)
  return {
    started_at_ms: at.getTime(),
    duration_ms: Math.round(performance.now() - began),
    response_status: is_answered ? answer.status : null,
    response_body: is_answered ? storable(answer.body) : null,
    error: is_answered
      ? null
      : answer.type === 'answered'
        ? 'reset'
        : (ERRORS[answer.code] ?? 'failed'),
    retry_after_ms:
      is_answered && (answer.status === 429 || answer.status === 503)
        ? retryAfterMs(answer.headers, now().getTime())
        : null,
    twiml: is_answered ? twiml : null,
    used_other_secret: false,
    address: null,
  }
}

const XML = /^(text|application)\/xml\s*(;|$)/i

/** Only the answer to a received message in Twilio's form can have replies. */
function twimlIn(
  { format, event }: DeliverJob,
  { status, headers, body, is_whole }: HttpResponse,
): DeliverAnswer['twiml'] {
  if (format !== 'twilio' || event !== 'message.received' || !isSuccess(status)) return null
  if (body.length === 0 || !XML.test(`${headers['content-type'] ?? ''}`)) return null
  return is_whole ? 'whole' : 'too_long'
}

/** Sent with every request, and in place of a header of the webhook with the same name. */
const OWN_HEADERS = { 'user-agent': 'Svc-Webhooks/1' }

/** A body as text without NUL, which a database cannot store. */
function storable(body: Buffer): string {
  return body.toString('utf8').replaceAll('\0', '\ufffd')
}

/** The error of a delivery for each failure of a call; `failed` for any other. */
const ERRORS: Partial<Record<HttpFailure, DeliveryOutcome>> = {
  forbidden: 'blocked_target',
  connect_refused: 'connect',
  unreachable: 'connect',
  connect_timeout: 'connect',
  dns: 'dns',
  tls: 'tls',
  busy: 'timeout',
  timeout: 'timeout',
  reset: 'reset',
  // The connection ended without an answer, and the pause came before the repetition.
  paused: 'reset',
}

const OUTCOMES: ReadonlySet<string> = new Set(DELIVERY_OUTCOMES)

/** The outcome of an attempt as metrics count it. */
export function deliveryOutcome({
  response_status,
  error,
}: Pick<DeliverAnswer, 'response_status' | 'error'>): DeliveryOutcome {
  const outcome =
    response_status === null ? error : `${Math.floor(Math.min(response_status, 599) / 100)}xx`
  return outcome !== null && OUTCOMES.has(outcome) ? (outcome as DeliveryOutcome) : 'failed'
}
