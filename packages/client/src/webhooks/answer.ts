import type { VerificationFailure } from '../generated/verdict.ts'
import type { BodyFailure, RawBody } from './body.ts'
import { sha256 } from './bytes.ts'
import type { DedupeStore } from './dedupe.ts'
import { type DeliveryContext, eventOf, type UnknownEvent } from './event.ts'
import { verifyWebhook } from './verify.ts'

/** A request in the form that every adapter supplies. */
export interface IncomingDelivery {
  method: string
  url: string
  header(name: string): string | null
  body: RawBody
}

/** The answer to a delivery; `message` is for people who read the delivery's attempts. */
export interface Reply {
  status: number
  error: string | null
  message: string
  headers?: Record<string, string>
}

/** The options of `createAnswering`. */
interface Answering {
  /** The secrets for a delivery; none refuses it. */
  secretsOf(delivery: IncomingDelivery): Promise<readonly string[]>
  tolerance_s: number | false
  dedupe: DedupeStore
  /** Called with a verified event that is not handled yet. */
  handle(event: UnknownEvent, context: DeliveryContext): unknown
  answer_within_ms: number
  log(line: string, error?: unknown): void
}

const OK: Reply = { status: 200, error: null, message: 'ok' }
const DUPLICATE: Reply = { status: 200, error: null, message: 'handled before' }

/** After this answer the sender retries later. Once the event is handled, the retry gets 200. */
const BUSY: Reply = {
  status: 503,
  error: 'still_handling',
  message: 'The event is still being handled, or too many other events are.',
  headers: { 'retry-after': '5' },
}

const PARSED =
  'the body was parsed before the webhook handler saw it, so no signature can be checked: give the handler a route that no body parser reads first'

/**
 * Answers deliveries: 403 to an invalid signature, 500 when the receiver is set up wrongly or its
 * function fails, 503 when the function takes too long, otherwise 200. Never runs the function
 * twice at the same time for one event.
 */
export function createAnswering(answering: Answering) {
  const running = new Map<string, Promise<Reply>>()

  return async function answer(delivery: IncomingDelivery): Promise<Reply> {
    const { method, header, body } = delivery
    const { secretsOf, tolerance_s, answer_within_ms, log } = answering
    if (method !== 'POST') {
      return {
        ...refusal(405, 'method_not_allowed', 'Deliveries are POSTed.'),
        headers: { allow: 'POST' },
      }
    }
    if (typeof body !== 'string' && 'failure' in body) return unreadable(body, log)
    let secret: readonly string[]
    try {
      secret = await secretsOf(delivery)
    } catch (error) {
      log('webhookHandler: the function for the secret failed.', error)
      return refusal(500, 'secret_failed', 'The receiver could not look up the secret.')
    }
    if (secret.length === 0)
      return refusal(403, 'unknown_webhook', 'The receiver has no secret for it.')
    const verified = await verifyWebhook({ secret, tolerance_s, body, headers: { get: header } })
    if (!verified.ok) return refusal(403, verified.reason, verified.hint)
    const event = eventOf(body)
    if (!event) return refusal(400, 'malformed_body', 'The body must be JSON of event and data.')
    const { event_id, timestamp } = verified
    const context: DeliveryContext = {
      event_id: event_id ?? `sha256:${await sha256(body)}`,
      is_standard: event_id !== null,
      delivery_id: header('X-Svc-Delivery'),
      attempt: Number(header('X-Svc-Attempt')) || 1,
      signed_at: timestamp,
    }
    return within(answer_within_ms, handleOnce(event, context))
  }

  function handleOnce(event: UnknownEvent, context: DeliveryContext): Promise<Reply> {
    const { event_id } = context
    const already = running.get(event_id)
    if (already) return already
    const handling = handleClaimed(answering, event, context).finally(() =>
      running.delete(event_id),
    )
    running.set(event_id, handling)
    return handling
  }
}

function unreadable({ failure }: BodyFailure, log: Answering['log']): Reply {
  if (failure === 'too_large') return refusal(413, failure, 'The body is too large.')
  if (failure === 'cut_short') return refusal(400, failure, 'The body ended too early.')
  log(`webhookHandler: ${PARSED}.`)
  return refusal(500, 'body_already_parsed', `The receiver is set up wrongly: ${PARSED}.`)
}

async function handleClaimed(
  { dedupe, handle, log }: Answering,
  event: UnknownEvent,
  context: DeliveryContext,
): Promise<Reply> {
  const { event_id } = context
  try {
    const claim = await dedupe.claim(event_id)
    if (claim !== 'claimed') return claim === 'done' ? DUPLICATE : BUSY
  } catch (error) {
    log('webhookHandler: the dedupe store failed.', error)
    return refusal(500, 'store_failed', 'The receiver could not look up the event.')
  }
  try {
    await handle(event, context)
    await dedupe.complete(event_id)
    return OK
  } catch (error) {
    log(`webhookHandler: ${event.event} ${event_id} failed; the delivery will be retried.`, error)
    await release(dedupe, event_id)
    return refusal(500, 'handler_failed', 'The receiver failed to handle the event.')
  }
}

async function release(dedupe: DedupeStore, event_id: string): Promise<void> {
  try {
    await dedupe.release(event_id)
  } catch {
    // If the store did not release the event, the claim expires in the store.
  }
}

async function within(limit_ms: number, handling: Promise<Reply>): Promise<Reply> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<Reply>((resolve) => {
    timer = setTimeout(() => resolve(BUSY), limit_ms)
  })
  return Promise.race([handling, late]).finally(() => clearTimeout(timer))
}

function refusal(
  status: number,
  error: VerificationFailure | (string & {}),
  message: string,
): Reply {
  return { status, error, message }
}
