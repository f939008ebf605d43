import type { Channel } from '../contract/resources/content.ts'
import { type EventData, type EventKind, eventBody } from '../contract/resources/events.ts'
import type { WebhookFormatName } from '../contract/resources/webhooks.ts'
import type { StatusCallback } from '../rows/messages.ts'
import type { DeliveryQueueRow, DeliveryRow, EventRow, WebhookRow } from '../rows/rows.ts'
import type { Sealed, SealedHeaders } from '../rows/sealed.ts'
import { MAX_ATTEMPTS } from './delivery-times.ts'
import type { FormattedMessage } from './formats/format.ts'
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
  return FORMATS[format].takes?.(event, channel) ?? true
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

/** A delivery that a claim leased to this process. */
export interface ClaimedDelivery {
  delivery_id: string
  workspace_id: string
  webhook_id: string
  event_id: string
  event: string
  url: string
  secret: Sealed
  /** The secret before the last rotation, for as long as it is valid. */
  previous_secret: Sealed | null
  /** The fingerprint of the secret that a receiver has proved to know since the last rotation, if any. */
  accepted_secret: string | null
  headers: SealedHeaders
  format: WebhookFormatName
  /** The message of the event, for formats other than `svc`. */
  message: FormattedMessage | null
  /** The stored body of the event. */
  body: string
  /** The number of the try, from 1. */
  attempt: number
  token: string
  /** The host whose gate the claim holds; absent for a webhook that had a 2xx. */
  gate_host?: string
}

/** The columns of a webhook that a new delivery to it needs. */
export const ENDPOINT_COLUMNS = [
  'url',
  'secret',
  'previous_secret',
  'previous_secret_ends_at',
  'accepted_secret',
  'headers',
  'gate_host',
] as const satisfies (keyof WebhookRow)[]

/** A webhook that gets an event, with its endpoint. */
export type SubscribedWebhook = Subscriber & Pick<WebhookRow, (typeof ENDPOINT_COLUMNS)[number]>

/** The terms on which a transaction claims deliveries as it queues them. */
export interface ClaimOfNewDeliveries {
  now: Date
  elapsed_ms: number
  lease_ms: number
  token: string
  /** Whether the delivery may be sent now; it then takes a part of its receiver's room. */
  admits(delivery: Pick<DeliveryRow, 'webhook_id' | 'workspace_id'>): boolean
}

/** The rows of new deliveries. */
export interface DeliveryQueuePlan {
  queue: DeliveryQueueRow[]
  claimed: ClaimedDelivery[]
  /** The deliveries that no claim holds. */
  waiting: DeliveryRow[]
}

/**
 * Queues the deliveries of new events, and claims those that may be sent now. Without `context` none is claimed. Deliveries
 * in a format other than `svc`, and status callbacks, wait for a claim, which reads their message; so do those at a gate, and
 * those about test messages.
 */
export function planDeliveryQueue(
  { events, deliveries, delivery_queue }: FanOut,
  webhooks: ReadonlyMap<string, readonly SubscribedWebhook[]>,
  context: ClaimOfNewDeliveries | null,
): DeliveryQueuePlan {
  if (!context) return { queue: delivery_queue, claimed: [], waiting: deliveries }
  const plan: DeliveryQueuePlan = { queue: [], claimed: [], waiting: [] }
  const bodies = new Map(events.map(({ id, body }) => [id, body]))
  const { now, lease_ms, token } = context
  const due_at = new Date(now.getTime() + lease_ms)
  for (const [i, delivery] of deliveries.entries()) {
    const queued = delivery_queue[i] as DeliveryQueueRow
    const { workspace_id, webhook_id, event_id } = delivery
    const webhook = webhooks.get(workspace_id)?.find(({ id }) => id === webhook_id)
    const body = bodies.get(event_id)
    // Attempts about test messages are counted by claims.
    const isCounted = delivery.livemode && queued.due_at <= now
    const isComplete =
      webhook?.format === 'svc' && webhook.gate_host === null && body !== undefined && isCounted
    if (isComplete && context.admits(delivery)) {
      plan.queue.push({ ...queued, due_at, set_at: now, token })
      plan.claimed.push(claimedDelivery(delivery, webhook, body, context))
    } else {
      plan.queue.push(queued)
      plan.waiting.push(delivery)
    }
  }
  return plan
}

function claimedDelivery(
  { id, workspace_id, webhook_id, event_id, event, attempt_count }: DeliveryRow,
  webhook: SubscribedWebhook,
  body: string,
  { now, token }: ClaimOfNewDeliveries,
): ClaimedDelivery {
  const { url, secret, previous_secret, previous_secret_ends_at: ends_at } = webhook
  return {
    delivery_id: id,
    workspace_id,
    webhook_id,
    event_id,
    event,
    url,
    secret,
    previous_secret: ends_at !== null && ends_at > now ? previous_secret : null,
    accepted_secret: webhook.accepted_secret,
    headers: webhook.headers,
    format: webhook.format,
    message: null,
    body,
    attempt: attempt_count + 1,
    token,
  }
}
