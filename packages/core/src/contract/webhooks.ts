import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { EVENT_KINDS } from './events.ts'
import { httpUrl, text, timestamp, uuid } from './fields.ts'
import { LIMITS } from './limits.ts'
import { limit, page, pagination } from './paging.ts'
import { headerValue, textMap } from './text-map.ts'

/** How a webhook does: `failing` is tried on, `disabled` is not. Source: contract section 7. */
export const WEBHOOK_STATUSES = ['active', 'failing', 'disabled'] as const

/** How a webhook does. */
export type WebhookStatus = (typeof WEBHOOK_STATUSES)[number]

/** What a webhook can be subscribed to: kinds of events, or `*` for all, those to come included. */
export const SUBSCRIPTIONS = ['*', ...EVENT_KINDS] as const

/** One thing that a webhook is subscribed to. */
export type Subscription = (typeof SUBSCRIPTIONS)[number]

/** The record of a webhook; its secret is in no record. Source: contract section 7. */
export const webhook = z
  .object({
    id: uuid,
    url: z.string(),
    description: z.string().nullable(),
    events: z.array(z.enum(SUBSCRIPTIONS)),
    is_active: z.boolean(),
    status: z.enum(WEBHOOK_STATUSES),
    disabled_reason: z.string().nullable(),
    secret_prefix: z.string(),
    /** The names only: values are written and never read back. */
    headers: z.array(z.string()),
    consecutive_failures: z.int().min(0),
    last_success_at: timestamp.nullable(),
    last_failure_at: timestamp.nullable(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Webhook' })

/** The record of a webhook. */
export type Webhook = z.output<typeof webhook>

/** Where a delivery stands. Source: contract section 7. */
export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed', 'discarded'] as const

/** Where a delivery stands. */
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

/** What caused a delivery: an event, a test that was asked for, or someone sending it again. */
export const DELIVERY_TRIGGERS = ['event', 'test', 'manual'] as const

/** What caused a delivery. */
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
    attempt_count: z.int().min(0),
    max_attempts: z.int().min(1),
    next_attempt_at: timestamp.nullable(),
    response_status: z.int().nullable(),
    response_time_ms: z.int().nullable(),
    error: z.string().nullable(),
    created_at: timestamp,
    delivered_at: timestamp.nullable(),
  })
  .meta({ id: 'Delivery' })

/** The record of a delivery. */
export type Delivery = z.output<typeof delivery>

const HEADER_NAME = /^[A-Za-z][A-Za-z0-9_-]*$/
// Those that the transport or the signature needs for itself.
const RESERVED_NAME =
  /^(?:host|connection|content-.*|transfer-encoding|te|trailer|upgrade|expect|keep-alive|accept-encoding|user-agent|proxy-.*|x-svc-.*|webhook-.*)$/i

const customHeaders = textMap({
  entries_max: LIMITS.webhook_headers,
  name: (name) => {
    if (name.length > LIMITS.webhook_header_name_length || !HEADER_NAME.test(name)) {
      return `Header names must be 1 to ${LIMITS.webhook_header_name_length} letters, digits, "-" or "_"`
    }
    return RESERVED_NAME.test(name) ? `Header ${name} is reserved` : null
  },
  value: headerValue(LIMITS.webhook_header_value_length),
}).meta({ description: 'Sent with every delivery. Values are never shown again.' })

const access = { auth: 'jwt_or_api_key', scope: 'manage_webhooks', rate: 'general' } as const
const oneWebhook = { params: z.object({ id: uuid }), not_found: 'Webhook not found' } as const

/** Webhooks. Source: interface, Webhooks; contract sections 3, 7 and 12. */
export const webhooks = {
  create: endpoint({
    ...access,
    method: 'POST',
    path: '/api/v1/webhooks',
    status: 201,
    body: z.object({
      url: httpUrl.meta({ example: 'https://example.com/webhooks/svc' }),
      description: text(LIMITS.webhook_description_length).optional(),
      events: z
        .array(z.enum(SUBSCRIPTIONS))
        .min(1)
        .max(SUBSCRIPTIONS.length)
        .default(() => ['*' as const]),
      headers: customHeaders.optional(),
    }),
    data: z.object({
      webhook: webhook.extend({
        secret: z.string().meta({ description: 'Signs the deliveries. It is shown this once.' }),
      }),
    }),
    summary: 'Create a webhook',
  }),
  list: endpoint({
    ...access,
    method: 'GET',
    path: '/api/v1/webhooks',
    status: 200,
    query: z.object({ page, limit }),
    data: z.object({ webhooks: z.array(webhook), pagination }),
    summary: 'List webhooks',
  }),
  events: endpoint({
    ...access,
    method: 'GET',
    path: '/api/v1/webhooks/events',
    status: 200,
    data: z.object({
      events: z.array(
        z.object({
          name: z.enum(EVENT_KINDS),
          description: z.string(),
          example: z.object({ event: z.enum(EVENT_KINDS), data: z.looseObject({}) }),
        }),
      ),
    }),
    summary: 'List the kinds of events',
  }),
  get: endpoint({
    ...access,
    ...oneWebhook,
    method: 'GET',
    path: '/api/v1/webhooks/:id',
    status: 200,
    data: z.object({ webhook }),
    summary: 'Get one webhook',
  }),
  delete: endpoint({
    ...access,
    ...oneWebhook,
    method: 'DELETE',
    path: '/api/v1/webhooks/:id',
    status: 200,
    data: z.object({ message: z.string() }),
    summary: 'Delete a webhook',
  }),
  deliveries: endpoint({
    ...access,
    ...oneWebhook,
    method: 'GET',
    path: '/api/v1/webhooks/:id/deliveries',
    status: 200,
    query: z.object({ page, limit }),
    data: z.object({ deliveries: z.array(delivery), pagination }),
    summary: 'List the deliveries of a webhook, newest first',
  }),
} as const
