import * as z from 'zod'
import { endpoint } from '../endpoints/endpoint.ts'
import { listQuery, nextAfter, pagination } from '../endpoints/paging.ts'
import { httpUrl, isRecord, text, timestamp, uuid } from '../fields/fields.ts'
import { headerValue, textMap } from '../fields/text-map.ts'
import { LIMITS } from '../limits.ts'
import { EVENT_KINDS } from './events.ts'
import { webhookDeliveries } from './webhook-deliveries.ts'

/** The statuses of a webhook; only `disabled` stops deliveries. Source: contract section 7. */
export const WEBHOOK_STATUSES = ['active', 'failing', 'disabled'] as const

/** The status of a webhook. */
export type WebhookStatus = (typeof WEBHOOK_STATUSES)[number]

/** Whether a webhook gets events of live messages, of test messages, or of both. Source: contract section 9. */
export const WEBHOOK_MODES = ['all', 'live', 'test'] as const

/** Whether a webhook gets events of live messages, of test messages, or of both. */
export type WebhookMode = (typeof WEBHOOK_MODES)[number]

/**
 * The forms of the requests to a webhook: of this service, or of another vendor's webhooks, for applications that were
 * written for that vendor.
 */
export const WEBHOOK_FORMATS = ['svc', 'twilio', 'resend'] as const

/** The form of the requests to a webhook. */
export type WebhookFormatName = (typeof WEBHOOK_FORMATS)[number]

/** The possible subscriptions of a webhook: kinds of events, or `*` for all kinds, including future kinds. */
export const SUBSCRIPTIONS = ['*', ...EVENT_KINDS] as const

/** One subscription of a webhook. */
export type Subscription = (typeof SUBSCRIPTIONS)[number]

/** The periods of the health of a webhook. */
export const HEALTH_PERIODS = ['24h', '7d', '30d'] as const

/** A period of the health of a webhook. */
export type HealthPeriod = (typeof HEALTH_PERIODS)[number]

/** What the attempts of a period got. */
const attemptSummary = {
  attempts: z.int().min(0),
  succeeded: z.int().min(0).meta({ description: 'The attempts with a 2xx.' }),
  p50_ms: z.int().nullable().meta({
    description:
      'Half of all answers came within this time, at most 19 % too high; null without an answer. Attempts without an answer are not part of it.',
  }),
  p99_ms: z.int().nullable().meta({ description: '99 % of all answers came within this time.' }),
}

/** How the receiver of a webhook answers, in a period that ends now. */
const webhookHealth = z
  .object({
    period: z.enum(HEALTH_PERIODS),
    unit: z.enum(['hour', 'day']),
    ...attemptSummary,
    success_rate: z.number().min(0).max(1).nullable().meta({
      description: 'The share of attempts with a 2xx; null without an attempt.',
    }),
    points: z.array(z.object({ since: timestamp, ...attemptSummary })).meta({
      description: 'One for each hour or day (UTC), oldest first, also for those without attempts.',
    }),
    failures: z
      .array(
        z.object({
          delivery_id: uuid,
          event: z.enum(EVENT_KINDS),
          attempt: z.int().min(1),
          at: timestamp,
          duration_ms: z.int().min(0),
          response_status: z.int().nullable(),
          response_body: z.string().nullable().meta({
            description: 'The first 1,000 characters of the answer; the delivery has all of it.',
          }),
          error: z.string().nullable(),
        }),
      )
      .meta({ description: 'The last failed attempts, newest first, at most 20.' }),
    failing_since: timestamp.nullable().meta({
      description: 'The first failure since the last success; null if none failed since.',
    }),
    disabled_at: timestamp.nullable(),
    disabled_reason: z.string().nullable(),
  })
  .meta({ id: 'WebhookHealth' })

/** The record of a webhook, without its secret. Source: contract section 7. */
export const webhook = z
  .object({
    id: uuid,
    url: z.string(),
    description: z.string().nullable(),
    events: z.array(z.enum(SUBSCRIPTIONS)),
    mode: z.enum(WEBHOOK_MODES).meta({
      description:
        'Whether it gets events of live messages, of test messages (`livemode` false), or of both.',
    }),
    format: z.enum(WEBHOOK_FORMATS).meta({
      description:
        'The form of the requests: of this service, or of the webhooks of another vendor.',
    }),
    api_key_id: uuid.nullable().meta({
      description:
        'The API key that signs the deliveries, in place of the secret of the webhook; null for none.',
    }),
    is_active: z.boolean(),
    status: z.enum(WEBHOOK_STATUSES),
    disabled_reason: z.string().nullable(),
    secret_prefix: z.string(),
    /** The names of the headers; their values are never returned. */
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

const HEADER_NAME = /^[A-Za-z][A-Za-z0-9_-]*$/
// These names are reserved for the transport and the signature.
const RESERVED_NAME =
  /^(?:host|connection|content-.*|transfer-encoding|te|trailer|upgrade|expect|keep-alive|accept-encoding|user-agent|proxy-.*|x-svc-.*|webhook-.*|x-twilio-.*|i-twilio-.*|svix-.*)$/i

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

const headerNames = z
  .array(z.string('Header names must be strings'))
  .max(LIMITS.webhook_headers, `At most ${LIMITS.webhook_headers} entries are allowed`)

/** New headers with their values, or the names of the headers to keep, because a record contains only names. */
const changedHeaders = z
  .custom<Record<string, string> | string[]>((value) => Array.isArray(value) || isRecord(value), {
    error: 'headers must be an object, or an array of names',
  })
  .superRefine((value, ctx) => {
    const { error } = (Array.isArray(value) ? headerNames : customHeaders).safeParse(value)
    for (const { message, path } of error?.issues ?? []) {
      ctx.addIssue({ code: 'custom', message, path })
    }
  })
  .meta({
    oneOf: [
      { type: 'object', additionalProperties: { type: 'string' } },
      { type: 'array', items: { type: 'string' } },
    ],
    description:
      'An object replaces all headers. An array of names, as in a record, keeps those and removes the others.',
  })

const mode = z.enum(WEBHOOK_MODES).optional()
const subscriptions = z.array(z.enum(SUBSCRIPTIONS)).min(1).max(SUBSCRIPTIONS.length)
const newSecret = z.string().meta({ description: 'Signs the deliveries. It is shown only once.' })

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
      events: subscriptions.default(() => ['*' as const]),
      mode: mode.meta({
        description: 'Default: `all`; with a test key `test`, the only value that it may set.',
      }),
      headers: customHeaders.optional(),
      format: z.enum(WEBHOOK_FORMATS).optional().meta({
        description:
          'The form of the requests; default: `svc`. `twilio`: a form as Twilio posts it, for messages by SMS and WhatsApp; it needs `api_key_id`. `resend`: JSON as Resend posts it, for e-mails, with the headers of Svix.',
      }),
      api_key_id: uuid.optional().meta({
        description:
          'For `twilio`: the API key whose text signs the requests, created with `signs`. `secret` of the answer is then an empty text.',
      }),
    }),
    data: z.object({
      webhook: webhook.extend({ secret: newSecret }),
      warning: z.string().optional().meta({
        description: 'Present while the e-mail address of the workspace is not verified.',
      }),
    }),
    summary: 'Create a webhook',
  }),
  list: endpoint({
    ...access,
    method: 'GET',
    path: '/api/v1/webhooks',
    status: 200,
    query: listQuery({}),
    data: z.object({ webhooks: z.array(webhook), pagination, next_after: nextAfter }),
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
  health: endpoint({
    ...access,
    ...oneWebhook,
    method: 'GET',
    path: '/api/v1/webhooks/:id/health',
    status: 200,
    query: z.object({ period: z.enum(HEALTH_PERIODS).default('24h') }),
    data: z.object({ health: webhookHealth }),
    summary: 'Get how the receiver of a webhook answers',
    description:
      'Counts attempts by their outcome, with the times of the answers, and has the last failed ones. `24h` has a point for each hour, `7d` and `30d` for each day.',
  }),
  update: endpoint({
    ...access,
    ...oneWebhook,
    method: 'PUT',
    path: '/api/v1/webhooks/:id',
    status: 200,
    body: z.object({
      url: httpUrl.optional(),
      description: text(LIMITS.webhook_description_length).nullish(),
      events: subscriptions.nullish(),
      mode: mode.meta({
        description:
          'Pending deliveries that do not fit the new mode are discarded. A test key may set `test` only.',
      }),
      headers: changedHeaders.nullish(),
      is_active: z.boolean().optional(),
    }),
    data: z.object({
      webhook,
      warning: z.string().optional().meta({
        description: 'Present when a changed `url` removed the headers.',
      }),
    }),
    summary: 'Change a webhook',
    description:
      'Changes the fields in the body and keeps the others; null clears one: no description, every event, no headers. `is_active` disables and enables. A `url` with another scheme, host or port removes the headers, unless `headers` has them with their values; the signing secret stays, because it is never sent.',
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
  rotate_secret: endpoint({
    ...access,
    ...oneWebhook,
    method: 'POST',
    path: '/api/v1/webhooks/:id/rotate-secret',
    status: 200,
    data: z.object({
      webhook: webhook.extend({
        secret: newSecret,
        previous_secret_ends_at: timestamp.meta({
          description: 'Until then the previous secret is valid too.',
        }),
      }),
    }),
    summary: 'Replace the secret of a webhook',
    description:
      'Both secrets are valid for 24 hours. Only the newest two are valid: a second rotation ends the oldest immediately. A webhook that an API key signs has no secret to replace.',
  }),
  enable: endpoint({
    ...access,
    ...oneWebhook,
    method: 'POST',
    path: '/api/v1/webhooks/:id/enable',
    status: 200,
    data: z.object({ webhook }),
    summary: 'Enable a disabled webhook',
    description:
      'Pending deliveries continue on their schedule. Deliveries that fell due while it was disabled were discarded and can be recovered.',
  }),
  ...webhookDeliveries,
} as const
