import { EVENT_KINDS, type EventKind, type WireEventData } from '@svc/core/contract'

/** One event as a receiver reads it: `event` tells which `data` it has. Source: interface, Events; contract section 7. */
export type WebhookEvent<Kind extends EventKind = EventKind> = {
  [K in Kind]: { event: K; data: WireEventData<K> }
}[Kind]

/** What is known of a delivery besides its event. */
export interface DeliveryContext {
  /** The same on every attempt, whatever the webhook: what to tell repetitions by. */
  event_id: string
  /** Whether `event_id` is `webhook-id`; where only `X-Svc-Signature` came, it is the digest of the body. */
  is_standard: boolean
  /** One event to one webhook. */
  delivery_id: string | null
  /** Counted from 1. */
  attempt: number
  /** When this attempt was signed; null where only `X-Svc-Signature` came, which does not tell. */
  signed_at: Date | null
}

/** An event of a kind that this version does not know. */
export interface UnknownEvent {
  event: string
  data: Record<string, unknown>
}

/** Whether this version knows the kind of the event. */
export function isKnown(event: UnknownEvent): event is UnknownEvent & WebhookEvent {
  return EVENT_KINDS.some((kind) => kind === event.event)
}

/** The event that a body holds, or null where it is not `{ event, data }`. */
export function eventOf(body: string | Uint8Array): UnknownEvent | null {
  try {
    const text = typeof body === 'string' ? body : new TextDecoder('utf-8').decode(body)
    const { event, data } = JSON.parse(text)
    const isObject = typeof data === 'object' && data !== null && !Array.isArray(data)
    return typeof event === 'string' && isObject ? { event, data } : null
  } catch {
    return null
  }
}
