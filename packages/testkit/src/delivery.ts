import { randomUUID } from 'node:crypto'
import { EVENTS, type EventKind, type WireEventData } from '@svc/core/contract'
import { sign } from '@svc/core/webhooks'

/** A signed request as the service would send it: exact bytes, every header. */
export interface SignedDelivery {
  body: string
  headers: Record<string, string>
}

export interface DeliveryOptions<Kind extends EventKind> {
  /** The webhook's secret, `whsec_…`. */
  secret: string
  /** Fields of the event's `data` that shall differ from the example's. */
  data?: Partial<WireEventData<Kind>>
  /** The event's id: the same on every attempt. A new one unless told. */
  event_id?: string
  delivery_id?: string
  /** Counted from 1. */
  attempt?: number
  at?: Date
}

/**
 * A delivery of the given kind, signed like a real one: post it to your receiver, or hand it to its handler.
 *
 * @example
 * const { body, headers } = createDelivery('message.delivered', { secret, data: { message_id } })
 * await fetch(url, { method: 'POST', headers, body })
 */
export function createDelivery<Kind extends EventKind>(
  kind: Kind,
  options: DeliveryOptions<Kind>,
): SignedDelivery {
  const data = { ...EVENTS[kind].example, ...options.data }
  const body = JSON.stringify({ event: kind, data })
  const { secret, attempt = 1, at = new Date() } = options
  const { event_id = randomUUID(), delivery_id = randomUUID() } = options
  return {
    body,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'Svc-Webhooks/1',
      ...sign({ secret, body, event: kind, event_id, delivery_id, attempt, at }),
    },
  }
}
