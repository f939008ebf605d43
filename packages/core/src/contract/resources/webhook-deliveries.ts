import * as z from 'zod'
import { endpoint } from '../endpoints/endpoint.ts'
import { listQuery, nextAfter, pagination } from '../endpoints/paging.ts'
import { dateTime, jsonObject, timestamp, uuid } from '../fields/fields.ts'
import { LIMITS } from '../limits.ts'
import { EVENT_KINDS } from './events.ts'
import { NEXT_ATTEMPT_REASONS } from './next-attempt.ts'

/** The statuses of a delivery. Source: contract section 7. */
export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed', 'discarded'] as const

/** The status of a delivery. */
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

/** The causes of a delivery: an event, a requested test, or a requested retry. */
export const DELIVERY_TRIGGERS = ['event', 'test', 'manual'] as const

/** The cause of a delivery. */
export type DeliveryTrigger = (typeof DELIVERY_TRIGGERS)[number]

/** The record of a delivery: one event to one webhook. Source: contract section 7. */
export const delivery = z
  .object({
    id: uuid,
    webhook_id: uuid,
    event: z.enum(EVENT_KINDS),
    message_id: uuid.nullable(),
    status: z.enum(DELIVERY_STATUSES),
    trigger: z.enum(DELIVERY_TRIGGERS),
    /** The `livemode` of the event. */
    livemode: z.boolean(),
    attempt_count: z.int().min(0),
    max_attempts: z.int().min(1),
    next_attempt_at: timestamp.nullable(),
    next_attempt_reason: z.enum(NEXT_ATTEMPT_REASONS).nullable().meta({
      description:
        'Why the delivery is not attempted before: `due` for its turn, `retry` after a failed attempt, `receiver_unavailable` while the receiver gets nothing because it failed several times in a row or asked to wait.',
    }),
    response_status: z.int().nullable(),
    response_time_ms: z.int().nullable(),
    error: z.string().nullable(),
    created_at: timestamp,
    delivered_at: timestamp.nullable(),
  })
  .meta({ id: 'Delivery' })

/** The record of a delivery. */
export type Delivery = z.output<typeof delivery>

/** One attempt of a delivery. Source: contract section 7. */
export const deliveryAttempt = z
  .object({
    number: z.int().min(1),
    started_at: timestamp,
    duration_ms: z.int().min(0),
    response_status: z.int().nullable(),
    response_body: z.string().nullable(),
    error: z.string().nullable(),
  })
  .meta({ id: 'DeliveryAttempt' })

/** A delivery with its payload and its attempts, oldest first. Source: contract section 7. */
export const deliveryWithAttempts = delivery
  .extend({ payload: jsonObject, attempts: z.array(deliveryAttempt) })
  .meta({ id: 'DeliveryWithAttempts' })

/** A delivery with its payload and its attempts, oldest first. */
export type DeliveryWithAttempts = z.output<typeof deliveryWithAttempts>

const access = { auth: 'jwt_or_api_key', scope: 'manage_webhooks', rate: 'general' } as const
const oneWebhook = { params: z.object({ id: uuid }), not_found: 'Webhook not found' } as const
const oneDelivery = {
  params: z.object({ id: uuid, delivery_id: uuid }),
  not_found: 'Delivery not found',
} as const

/** Deliveries to webhooks. Source: interface, Webhooks; contract section 7. */
export const webhookDeliveries = {
  test: endpoint({
    ...access,
    ...oneWebhook,
    method: 'POST',
    path: '/api/v1/webhooks/:id/test',
    status: 201,
    data: z.object({ delivery }),
    summary: 'Send a webhook.test event to a webhook',
    description:
      'It is delivered in one attempt, whatever the webhook is subscribed to, and also while the webhook is disabled.',
  }),
  deliveries: endpoint({
    ...access,
    ...oneWebhook,
    method: 'GET',
    path: '/api/v1/webhooks/:id/deliveries',
    status: 200,
    query: listQuery({
      status: z.enum(DELIVERY_STATUSES).optional(),
      event: z.enum(EVENT_KINDS).optional(),
    }),
    data: z.object({ deliveries: z.array(delivery), pagination, next_after: nextAfter }),
    summary: 'List the deliveries of a webhook, newest first',
  }),
  delivery: endpoint({
    ...access,
    ...oneDelivery,
    method: 'GET',
    path: '/api/v1/webhooks/:id/deliveries/:delivery_id',
    status: 200,
    data: z.object({ delivery: deliveryWithAttempts }),
    summary: 'Get one delivery with its payload and its attempts',
  }),
  retry: endpoint({
    ...access,
    ...oneDelivery,
    method: 'POST',
    path: '/api/v1/webhooks/:id/deliveries/:delivery_id/retry',
    status: 200,
    failures: ['validation_error'],
    data: z.object({ delivery }),
    summary: 'Retry a delivery now',
    description:
      'A pending delivery is attempted now and continues on its schedule; a finished one gets one more attempt. A delivered one stays `delivered`. While an attempt is in flight, the retry follows it if it fails; until then `next_attempt_at` is null.',
  }),
  recover: endpoint({
    ...access,
    ...oneWebhook,
    method: 'POST',
    path: '/api/v1/webhooks/:id/recover',
    status: 200,
    body: z.object({ since: dateTime, until: dateTime.optional() }),
    data: z.object({
      recovered: z.int().min(0),
      has_more: z.boolean().meta({ description: 'Whether to repeat the request for the rest.' }),
    }),
    summary: 'Queue the missed deliveries of a webhook again',
    description: `Failed and discarded deliveries of events between \`since\` and \`until\` (default: now), each with all its attempts; at most ${LIMITS.webhook_recover_deliveries} in one request and ${LIMITS.webhook_recover_s / 86_400} days back.`,
  }),
} as const
