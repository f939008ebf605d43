import type { IncomingHttpHeaders } from 'node:http'
import type { VerificationResult } from '@svc/core/webhooks'

/** A request that a receiver got. */
export interface ReceivedRequest {
  verification: VerificationResult
  /** Of the body, whether or not it verified; null where that is no event. */
  event: string | null
  data: Record<string, unknown> | null
  method: string
  path: string
  headers: IncomingHttpHeaders
  /** The exact bytes; empty where there were more than 1 MB. */
  body: Buffer
  /** What it was answered; null where it was not, or without end. */
  status: number | null
  at: Date
}

/** An event that verified, with every attempt at it. */
export interface ReceivedDelivery {
  /** `webhook-id`, or the signature where there is none. */
  event_id: string
  event: string
  data: Record<string, unknown>
  /** Oldest first. */
  attempts: ReceivedRequest[]
}

/** The events among the requests that verified, in the order in which they first came. */
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

/** Whether it came again after it had been acknowledged. */
export function cameAgain({ attempts }: ReceivedDelivery): boolean {
  const first = attempts.findIndex(({ status }) => status !== null && status >= 200 && status < 300)
  return first !== -1 && first < attempts.length - 1
}

/** What the body of an event says; nulls where it is none. */
export function contentOf(body: Buffer): Pick<ReceivedRequest, 'event' | 'data'> {
  try {
    const { event, data } = JSON.parse(body.toString('utf8'))
    if (typeof event === 'string' && typeof data === 'object') return { event, data }
  } catch {
    // It is shown as it came.
  }
  return { event: null, data: null }
}
