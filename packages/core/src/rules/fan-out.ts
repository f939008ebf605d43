import type { Channel } from '../contract/resources/content.ts'
import { type EventData, type EventKind, eventBody } from '../contract/resources/events.ts'
import type { StatusCallback } from '../rows/messages.ts'
import type { DeliveryQueueRow, DeliveryRow, EventRow, WebhookRow } from '../rows/rows.ts'
import { MAX_ATTEMPTS } from './delivery-times.ts'
import { FORMATS } from './formats/formats.ts'

/** The columns of a webhook that decide whether it gets an event. */
export type Subscriber = Pick<WebhookRow, 'id' | 'workspace_id' | 'events' | 'mode' | 'format'>

/** The rows of an event: one body, and for each subscribed webhook one delivery and one queue row. */
export interface FanOut {
  events: EventRow[]
  deliveries: DeliveryRow[]
  delivery_queue: DeliveryQueueRow[]
}

export interface Happening<Kind extends EventKind> {
  event: Kind
  data: EventData<Kind>
  workspace_id: string
  message_id: string | null
}

/** Whether a webhook gets an event of that kind and mode, and its format has a form for it. */
export function wants(
  { events, mode, format }: Pick<Subscriber, 'events' | 'mode' | 'format'>,
  event: EventKind,
  { livemode, channel = null }: { livemode: boolean; channel?: Channel | null },
): boolean {
  if (mode !== 'all' && (mode === 'live') !== livemode) return false
  if (!events.includes('*') && !events.includes(event)) return false
  return FORMATS[format].takes(event, channel)
}

const BY_EVENT = { trigger: 'event', max_attempts: MAX_ATTEMPTS } as const

/**
 * Adds an event and its deliveries. An event without a subscriber is stored only with `keeps`: a program reads the events of
 * the database.
 */
export function fanOut<Kind extends EventKind>(
  into: FanOut,
  { event, data, workspace_id, message_id }: Happening<Kind>,
  subscribers: readonly Subscriber[],
  {
    at,
    newId,
    keeps = false,
    callback = null,
  }: {
    at: Date
    newId: () => string
    keeps?: boolean | undefined
    /** The message's status callback, which gets the events of the message that it names. */
    callback?: StatusCallback | null
  },
  { trigger, max_attempts }: Pick<DeliveryRow, 'trigger' | 'max_attempts'> = BY_EVENT,
): void {
  const { livemode } = data
  const wanting = subscribers.filter((webhook) => wants(webhook, event, data)).map(({ id }) => id)
  if (callback && (callback.events?.includes(event) ?? true)) wanting.push(callback.webhook_id)
  if (wanting.length === 0 && !keeps) return
  const body = eventBody(event, data)
  const event_id = newId()
  into.events.push({ workspace_id, id: event_id, event, message_id, body, created_at: at })
  for (const webhook_id of wanting) {
    const id = newId()
    into.deliveries.push({
      id,
      workspace_id,
      webhook_id,
      event_id,
      event,
      message_id,
      status: 'pending',
      trigger,
      livemode,
      attempt_count: 0,
      max_attempts,
      next_attempt_at: at,
      response_status: null,
      response_time_ms: null,
      error: null,
      started_at: null,
      response_body: null,
      created_at: at,
      updated_at: at,
      delivered_at: null,
    })
    into.delivery_queue.push({
      delivery_id: id,
      workspace_id,
      webhook_id,
      due_at: at,
      set_at: at,
      token: null,
    })
  }
}
