import type { IncomingHttpHeaders } from 'node:http'
import type { VerificationResult } from '@svc/core/webhooks'

/** A request that a test receiver got. */
export interface ReceivedRequest {
  verification: VerificationResult
  /** The kind of the event in the body, verified or not; null if the body is not an event. */
  event: string | null
  data: Record<string, unknown> | null
  method: string
  path: string
  headers: IncomingHttpHeaders
  /** The exact bytes; empty if the body was larger than 1 MB. */
  body: Buffer
  /** The status of the answer; null without a complete answer. */
  status: number | null
  at: Date
}

/** A verified event with all its attempts. */
export interface ReceivedDelivery {
  /** The `webhook-id` header; without this header, the signature. */
  event_id: string
  event: string
  data: Record<string, unknown>
  /** The requests with this event, oldest first. */
  attempts: ReceivedRequest[]
}

/** The verified events of the requests, in the order of their first arrival. */
export function deliveriesOf(requests: readonly ReceivedRequest[]): ReceivedDelivery[] {
  const found = new Map<string, ReceivedDelivery>()
  for (const request of requests) {
    const { verification, event, data, headers } = request
    if (!verification.ok || event === null || data === null) continue
    const event_id = verification.event_id ?? String(headers['x-svc-signature'])
    const known = found.get(event_id)
    if (known) known.attempts.push(request)
    else found.set(event_id, { event_id, event, data, attempts: [request] })
  }
  return [...found.values()]
}

/** Whether the event was repeated after a 2xx. */
export function isRepeated({ attempts }: ReceivedDelivery): boolean {
  const first = attempts.findIndex(({ status }) => status !== null && status >= 200 && status < 300)
  return first !== -1 && first < attempts.length - 1
}

/** The event and data of a body; both null when the body is not an event. */
export function contentOf(body: Buffer): Pick<ReceivedRequest, 'event' | 'data'> {
  try {
    const { event, data } = JSON.parse(body.toString('utf8'))
    if (typeof event === 'string' && typeof data === 'object') return { event, data }
  } catch {
    // A body that is not JSON is not an event.
  }
  return { event: null, data: null }
}
