import type { Style } from '../show/style.ts'
import { printable } from '../show/text.ts'
import { NO_ANSWER_STATUS } from './forward.ts'
import type { Received } from './webhook-receiver.ts'

/** The fields of an event that appear in its line. */
interface Payload {
  event?: unknown
  data?: { recipient?: unknown; sequence?: unknown; error_code?: unknown } | null
}

/**
 * A delivery in one line for people. `forwarded` is the status that the forward target returned. It is null if the
 * target did not answer, and undefined if the delivery was not forwarded.
 */
export function deliveryLine(
  received: Received,
  forwarded: number | null | undefined,
  style: Style,
): string {
  const { verification } = received
  const { event, data, attempt } = partsOf(received)
  if (!verification.ok) {
    const { reason, hint } = verification
    return `${style('red', '✗')} not verified (${reason}) ${printable(String(event))}: ${hint}`
  }
  const { recipient, sequence, error_code } = data
  const words = [
    event,
    recipient,
    error_code,
    sequence === undefined ? null : `sequence ${sequence}`,
    attempt > 1 ? `attempt ${attempt}` : null,
    forwarded === null ? `→ ${NO_ANSWER_STATUS}: no answer` : forwarded && `→ ${forwarded}`,
  ]
  const text = words.filter((word) => word !== null && word !== undefined && word !== '').join(' ')
  return `${style('green', '✓')} verified ${printable(text)}`
}

/** A delivery as a JSON document. */
export function deliveryDocument(received: Received, forwarded: number | null | undefined) {
  const { verification } = received
  const { event, attempt, delivery_id, payload } = partsOf(received)
  return {
    verified: verification.ok,
    reason: verification.ok ? null : verification.reason,
    event,
    delivery_id,
    attempt,
    forwarded: forwarded === null ? NO_ANSWER_STATUS : (forwarded ?? null),
    body: payload,
  }
}

function partsOf({ headers, body }: Received) {
  const payload = payloadOf(body)
  const headerOf = (name: string) => String(headers[name] ?? '')
  return {
    payload,
    event: payload.event ?? headerOf('x-svc-event'),
    data: payload.data ?? {},
    delivery_id: headerOf('x-svc-delivery') || null,
    attempt: Number(headerOf('x-svc-attempt')),
  }
}

function payloadOf(body: Buffer): Payload {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}
