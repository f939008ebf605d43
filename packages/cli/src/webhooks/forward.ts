import { printable, type Style } from '../show/text.ts'
import type { Received } from './webhook-receiver.ts'

/** The deadline of the target. It is shorter than the deadline of the service, so that the service gets an answer. */
const ANSWER_MAX_MS = 10_000

/** The status for the sender when the target does not answer, so that the sender retries. */
export const NO_ANSWER_STATUS = 502

/** Headers that are not forwarded, because they describe one connection. */
const HOP_HEADERS = new Set([
  'host',
  'connection',
  'keep-alive',
  'content-length',
  'transfer-encoding',
  'upgrade',
  'expect',
  'te',
  'trailer',
])

/** Forwards a delivery with its unchanged body and its headers. Returns the status, or null if there is no answer. */
export async function forward(
  url: string,
  { headers, body }: Pick<Received, 'headers' | 'body'>,
): Promise<number | null> {
  const kept = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    value === undefined || HOP_HEADERS.has(name) ? [] : [[name, String(value)]],
  )
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: kept,
      body: new Uint8Array(body),
      redirect: 'manual',
      signal: AbortSignal.timeout(ANSWER_MAX_MS),
    })
    await response.arrayBuffer()
    return response.status
  } catch {
    return null
  }
}

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
