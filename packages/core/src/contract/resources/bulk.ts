import * as z from 'zod'
import { endpoint } from '../endpoints/endpoint.ts'
import { afterText, listQuery, nextAfter, pagination } from '../endpoints/paging.ts'
import { credits, timestamp, uuid } from '../fields/fields.ts'
import { creditsOf, UNITS_PER_CREDIT, type Units } from '../fields/units.ts'
import { LIMITS } from '../limits.ts'
import { bulkRequest } from './bulk-request.ts'
import { CHANNELS } from './content.ts'
import { MESSAGE_STATUSES, storedContent } from './message.ts'
import { sentBulkJson } from './plain-send.ts'
import { usedTemplate } from './template-use.ts'

/** Why a bulk has no message for a recipient. Source: contract sections 6 and 12, Bulk. */
export const RECIPIENT_FAULTS = [
  'invalid_recipient',
  'contact_not_found',
  'missing_variable',
  'invalid_variable',
  'invalid_content',
  'invalid_metadata',
  'country_not_allowed',
  'suppressed',
] as const

/** Why a bulk has no message for a recipient. */
export type RecipientFault = (typeof RECIPIENT_FAULTS)[number]

const count = z.int().min(0)

/** The record of a bulk and its progress. Source: contract section 6, Bulk. */
export const bulk = z
  .object({
    id: uuid,
    channel: z.enum(CHANNELS),
    status: z.enum(['queued', 'processing', 'completed']).meta({
      description:
        '`queued`: no message was sent yet. `completed`: no message is queued any more; receipts may still follow.',
    }),
    total: count,
    accepted: count,
    rejected: count,
    duplicates: count,
    /** The number of its messages in each status. */
    counts: z.object(
      Object.fromEntries(MESSAGE_STATUSES.map((status) => [status, count])) as Record<
        (typeof MESSAGE_STATUSES)[number],
        typeof count
      >,
    ),
    canceled: count.meta({ description: 'The part of `counts.failed` that was canceled.' }),
    failures: z.array(z.object({ error_code: z.string().nullable(), count })).meta({
      description:
        'The other part of `counts.failed` by the error, the most frequent first. `GET /api/v1/messages` lists the messages.',
    }),
    retryable: count.meta({
      description:
        'The messages that `POST /api/v1/messages/bulk/:id/retry` would send: they failed before a provider accepted them. 0 while messages are queued, and after that request.',
    }),
    name: z.string().nullable().meta({
      description: 'The `campaign` of the metadata of the request; null without one.',
    }),
    sender: z.string().nullable().meta({ description: 'The `from` of the request.' }),
    content: storedContent.nullable().meta({
      description:
        'The content of the request with its placeholders. Null for a bulk of different e-mails, for a step of a broadcast, for a bulk of an earlier version, and after the retention time.',
    }),
    credits_used: credits,
    credits_refunded: credits,
    livemode: z.boolean(),
    created_at: timestamp,
    paused_at: timestamp.nullable().meta({
      description: 'When a request paused it; null if it is not paused, or no message is queued.',
    }),
    broadcast_id: uuid.nullable().meta({
      description: 'The broadcast whose step it is; null for most bulks.',
    }),
  })
  .meta({ id: 'Bulk' })

/** The record of a bulk and its progress. */
export type Bulk = z.output<typeof bulk>

/** A recipient that gets no message, and the reason. */
const rejected = {
  /** The position of the recipient in the request, from 0. */
  index: count,
  /** The address; null if the contact does not exist. */
  to: z.string().nullable(),
  error: z.enum(RECIPIENT_FAULTS),
  message: z.string(),
}

/** A stored rejected recipient of a bulk. */
export const bulkRejection = z
  .object({
    ...rejected,
    to: rejected.to.meta({
      description: `The first ${LIMITS.bulk_rejected_to_length} characters of the address; null if the contact does not exist, \`erased\` after an erasure.`,
    }),
    message: rejected.message.meta({
      description: `The first ${LIMITS.bulk_rejected_message_length} characters; empty after an erasure.`,
    }),
  })
  .meta({ id: 'BulkRejection' })

/** A stored rejected recipient of a bulk. */
export type BulkRejection = z.output<typeof bulkRejection>

/** Values that the service made, thousands in one answer. Validating them would take longer than storing them. */
const unchecked = {
  integer: z.number().meta({ type: 'integer' }),
  uuid: z.string().meta({ format: 'uuid' }),
  credits: z.codec(z.number(), z.custom<Units>(), {
    decode: (amount) => Math.round(amount * UNITS_PER_CREDIT) as Units,
    encode: creditsOf,
  }),
}

const accepted = z.object({
  bulk_id: uuid,
  status: z.literal('queued'),
  /** `accepted + rejected + duplicates`. */
  total: count,
  accepted: count,
  rejected: count,
  duplicates: count,
  credits_used: credits,
  created_at: timestamp,
  messages: z.array(
    z.object({
      /** The position of the recipient in the request, from 0. */
      index: unchecked.integer,
      message_id: unchecked.uuid,
      to: z.string(),
      status: z.literal('queued'),
      credits_used: unchecked.credits,
      segments: unchecked.integer.nullable(),
      deferred_until: timestamp.exactOptional().meta({
        description: 'Only for a message that waits for the end of quiet hours: when it is sent.',
      }),
    }),
  ),
  errors: z.array(z.object(rejected)),
  template: usedTemplate.exactOptional().meta({
    description: 'Only for a bulk from a template: its version and locale.',
  }),
})

const sending = {
  auth: 'api_key',
  scope: 'send_messages',
  rate: 'bulk',
  status: 201,
  idempotent: true,
  failures: ['insufficient_credits'],
  data: accepted,
  write_data: sentBulkJson,
} as const
// `/messages/bulk/:id` of the contract could also mean the message `bulk` to tools that read the OpenAPI document.
const oneBulk = { params: z.object({ id: uuid }), not_found: 'Bulk not found' } as const

const changing = {
  ...oneBulk,
  method: 'POST',
  auth: 'api_key',
  scope: 'send_messages',
  rate: 'general',
  status: 200,
  failures: ['validation_error'],
  data: z.object({ bulk }),
} as const

/** Bulks: one request for many messages. Source: interface, Messages; contract section 6, Bulk. */
export const bulks = {
  send: endpoint({
    ...sending,
    method: 'POST',
    path: '/api/v1/messages/bulk',
    body_limit: LIMITS.bulk_body_bytes,
    body: bulkRequest({ voice: false }),
    summary: 'Send to many recipients',
    description:
      '`{{name}}`, `{{ name }}` and `{{name|fallback}}` in the texts are filled in for each recipient. One debit pays for all messages, or nothing is sent. A repeated address gets one message.',
  }),
  get: endpoint({
    ...oneBulk,
    method: 'GET',
    path: '/api/v1/bulks/:id',
    also_at: '/api/v1/messages/bulk/:id',
    auth: 'api_key',
    scope: 'read_messages',
    rate: 'general',
    status: 200,
    data: z.object({ bulk }),
    summary: 'Get one bulk and its progress',
    description: '`GET /api/v1/messages?bulk_id=…` lists its messages.',
  }),
  rejected: endpoint({
    ...oneBulk,
    method: 'GET',
    path: '/api/v1/bulks/:id/rejected',
    also_at: '/api/v1/messages/bulk/:id/rejected',
    auth: 'api_key',
    scope: 'read_messages',
    rate: 'general',
    status: 200,
    query: listQuery({}, afterText),
    data: z.object({
      rejected: z.array(bulkRejection),
      is_stored: z.boolean().meta({
        description:
          '`false`: recipients were rejected, but they are not stored. A version that stored only their number accepted the bulk, or retention removed them.',
      }),
      pagination,
      next_after: nextAfter,
    }),
    summary: 'List the rejected recipients of a bulk, as in the request',
    description:
      'The same as `errors` in the answer to the request. The recipients have no message and cost nothing.',
  }),
  pause: endpoint({
    ...changing,
    path: '/api/v1/bulks/:id/pause',
    also_at: '/api/v1/messages/bulk/:id/pause',
    summary: 'Pause a bulk',
    description:
      'Its messages that no worker has begun to send stay queued and paid until it is resumed. Refused for a bulk without queued messages, and for a step of a broadcast.',
  }),
  resume: endpoint({
    ...changing,
    path: '/api/v1/bulks/:id/resume',
    also_at: '/api/v1/messages/bulk/:id/resume',
    summary: 'Resume a paused bulk',
    description:
      'Held messages go at once; quiet hours defer them. Refused for a bulk that is not paused, as after a cancellation.',
  }),
  cancel: endpoint({
    ...oneBulk,
    method: 'POST',
    path: '/api/v1/bulks/:id/cancel',
    also_at: '/api/v1/messages/bulk/:id/cancel',
    auth: 'api_key',
    scope: 'send_messages',
    rate: 'general',
    status: 200,
    data: z.object({ bulk, canceled: count }),
    summary: 'Cancel the queued messages of a bulk',
    description: 'Canceled messages fail as `canceled` and are refunded. The pause of a bulk ends.',
  }),
  retry: endpoint({
    ...sending,
    ...oneBulk,
    idempotent: false,
    method: 'POST',
    path: '/api/v1/bulks/:id/retry',
    also_at: '/api/v1/messages/bulk/:id/retry',
    failures: ['insufficient_credits', 'validation_error'],
    summary: 'Send the failed messages of a bulk again',
    description:
      'Each message that failed before a provider accepted it, and was not canceled, becomes a message of a new bulk and is charged again. This is possible once, when no message of the bulk is queued any more; a repeat gets the same answer.',
  }),
} as const
