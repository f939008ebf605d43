import { EVENT_KINDS } from '../generated/endpoints.ts'
import type { EventData, EventKind } from '../generated/types.ts'
import { textOf } from './bytes.ts'

/**
 * One event as a receiver reads it: `event` determines the type of `data`.
 */
export type WebhookEvent<Kind extends EventKind = EventKind> = {
  [K in Kind]: { event: K; data: EventData[K] }
}[Kind]

/** The delivery of an event. */
export interface DeliveryContext {
  /** The id of the event, the same on every attempt and for every webhook: it shows repetitions. */
  event_id: string
  /** Whether `event_id` is `webhook-id`; without this header it is the digest of the body. */
  is_standard: boolean
  /** Identifies the delivery of one event to one webhook. */
  delivery_id: string | null
  /** The number of the attempt, from 1. */
  attempt: number
  /** The time of signing; null if only `X-Svc-Signature` came, because it has no time. */
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

/** Returns the event in a body, or null when the body is not `{ event, data }`. */
export function eventOf(body: string | Uint8Array): UnknownEvent | null {
  try {
    const { event, data } = JSON.parse(textOf(body))
    const isObject = typeof data === 'object' && data !== null && !Array.isArray(data)
    return typeof event === 'string' && isObject ? { event, data } : null
  } catch {
    return null
  }
}
