import * as z from 'zod'
import { endpoint } from '../endpoints/endpoint.ts'
import { credits, timestamp, uuid } from '../fields/fields.ts'
import { creditsOf, UNITS_PER_CREDIT, type Units } from '../fields/units.ts'
import { LIMITS } from '../limits.ts'
import { bulkRequest } from './bulk-request.ts'
import { CHANNELS } from './content.ts'
import { MESSAGE_STATUSES } from './message.ts'

/** Why one recipient of a bulk gets nothing. Source: contract sections 6 and 12, Bulk. */
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

/** Why one recipient of a bulk gets nothing. */
export type RecipientFault = (typeof RECIPIENT_FAULTS)[number]

const count = z.int().min(0)

/** The record of a bulk, and how far it is. Source: contract section 6, Bulk. */
export const bulk = z
  .object({
    id: uuid,
    channel: z.enum(CHANNELS),
    status: z.enum(['queued', 'processing', 'completed']).meta({
      description:
        '`queued`: nothing was sent yet; `completed`: nothing is left to be sent, though receipts may still come.',
    }),
    total: count,
    accepted: count,
    rejected: count,
    duplicates: count,
    /** How many of its messages have which status just now. */
    counts: z.object(
      Object.fromEntries(MESSAGE_STATUSES.map((status) => [status, count])) as Record<
        (typeof MESSAGE_STATUSES)[number],
        typeof count
      >,
    ),
    credits_used: credits,
    credits_refunded: credits,
    livemode: z.boolean(),
    created_at: timestamp,
  })
  .meta({ id: 'Bulk' })

/** The record of a bulk, and how far it is. */
export type Bulk = z.output<typeof bulk>

/**
 * What the service made itself, a thousand times over: looking at each again would take longer than storing it.
 */
const cheap = {
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
      /** Which of the recipients, counted from 0. */
      index: cheap.integer,
      message_id: cheap.uuid,
      to: z.string(),
      status: z.literal('queued'),
      credits_used: cheap.credits,
      segments: cheap.integer.nullable(),
    }),
  ),
  errors: z.array(
    z.object({
      index: count,
      /** Null where it is not known: of a contact that there is not. */
      to: z.string().nullable(),
      error: z.enum(RECIPIENT_FAULTS),
      message: z.string(),
    }),
  ),
})

const sending = {
  auth: 'api_key',
  scope: 'send_messages',
  rate: 'bulk',
  status: 201,
  idempotent: true,
  failures: ['insufficient_credits'],
  data: accepted,
} as const
const oneBulk = { params: z.object({ id: uuid }), not_found: 'Bulk not found' } as const

/** Sending to many at once. Source: interface, Messages; contract section 6, Bulk. */
export const bulks = {
  send: endpoint({
    ...sending,
    method: 'POST',
    path: '/api/v1/messages/bulk',
    body_limit: LIMITS.bulk_body_bytes,
    body: bulkRequest({ voice: false }),
    summary: 'Send to many at once',
    description:
      '`{{name}}`, `{{ name }}` and `{{name|fallback}}` in the texts are filled in for each recipient. One debit pays for all messages, or nothing is sent. A repeated address is sent to once.',
  }),
  get: endpoint({
    ...oneBulk,
    method: 'GET',
    path: '/api/v1/messages/bulk/:id',
    auth: 'api_key',
    scope: 'read_messages',
    rate: 'general',
    status: 200,
    data: z.object({ bulk }),
    summary: 'Get one bulk and how far it is',
    description: 'Its messages are listed by `GET /api/v1/messages?bulk_id=…`.',
  }),
  cancel: endpoint({
    ...oneBulk,
    method: 'POST',
    path: '/api/v1/messages/bulk/:id/cancel',
    auth: 'api_key',
    scope: 'send_messages',
    rate: 'general',
    status: 200,
    data: z.object({ bulk, canceled: count }),
    summary: 'Cancel what a bulk has not sent yet',
    description: 'Canceled messages fail as `canceled` and are refunded.',
  }),
  retry: endpoint({
    ...sending,
    ...oneBulk,
    idempotent: false,
    method: 'POST',
    path: '/api/v1/messages/bulk/:id/retry',
    failures: ['insufficient_credits', 'validation_error'],
    summary: 'Send what failed in a bulk again',
    description:
      'Each message that failed before any provider took it, and was not canceled, becomes a message of a new bulk and is charged anew. A bulk is sent again once, when none of it is queued any more; asked again, the answer is the same.',
  }),
} as const
