import { z } from 'zod'
import { CHANNELS, type Content } from './content.ts'
import { endpoint } from './endpoint.ts'
import { credits, dateTime, isRecord, jsonObject, text, timestamp, uuid } from './fields.ts'
import { LIMITS } from './limits.ts'
import { limit, page, pagination } from './paging.ts'
import { channelText, sendRequest } from './send-request.ts'

export type { Channel, Content } from './content.ts'
export type { Metadata } from './fields.ts'

/** The statuses of a message, in the order they come. Source: interface, Message status. */
export const MESSAGE_STATUSES = ['queued', 'sent', 'delivered', 'failed', 'read'] as const

/** Where a message stands. */
export type MessageStatus = (typeof MESSAGE_STATUSES)[number]

/** How an SMS is encoded on the air. */
export const SMS_ENCODINGS = ['GSM-7', 'UCS-2'] as const

/** How an SMS is encoded on the air. */
export type SmsEncoding = (typeof SMS_ENCODINGS)[number]

/** What was validated on its way in is not validated again on its way out. */
const storedContent = z
  .custom<Content>(isRecord)
  .meta({ type: 'object', additionalProperties: true, example: { text: 'Your order A1 is ready' } })

/** The record of a message. Source: interface, Message; contract section 6. */
export const message = z
  .object({
    id: uuid,
    workspace_id: uuid,
    channel: z.enum(CHANNELS),
    recipient: z.string(),
    content: storedContent,
    status: z.enum(MESSAGE_STATUSES),
    credits_used: credits,
    /** What came back of `credits_used`. */
    credits_refunded: credits,
    provider: z.string().nullable(),
    provider_message_id: z.string().nullable(),
    /** A stable word for why it failed. */
    error_code: z.string().nullable(),
    error_message: z.string().nullable(),
    metadata: jsonObject,
    segments: z.int().nullable(),
    encoding: z.enum(SMS_ENCODINGS).nullable(),
    bulk_id: uuid.nullable(),
    /** False when it was sent with a test key. */
    livemode: z.boolean(),
    created_at: timestamp,
    updated_at: timestamp,
    scheduled_at: timestamp.nullable(),
    expires_at: timestamp.nullable(),
    sent_at: timestamp.nullable(),
    delivered_at: timestamp.nullable(),
    read_at: timestamp.nullable(),
    failed_at: timestamp.nullable(),
  })
  .meta({ id: 'Message' })

/** The record of a message. */
export type Message = z.output<typeof message>

/** The statuses that a list can be filtered by: `read` is not among them. Source: interface. */
const LISTED_STATUSES = ['queued', 'sent', 'delivered', 'failed'] as const

const messageId = z.object({ id: uuid })

/** Sending and reading messages. Source: interface, Messages. */
export const messages = {
  send: endpoint({
    method: 'POST',
    path: '/api/v1/messages/send',
    auth: 'api_key',
    scope: 'send_messages',
    rate: 'general',
    status: 201,
    idempotent: true,
    failures: ['insufficient_credits'],
    body_limit: LIMITS.send_body_bytes,
    body: sendRequest({ voice: false }),
    data: z.object({
      message_id: uuid,
      status: z.literal('queued'),
      credits_used: credits,
      created_at: timestamp,
    }),
    summary: 'Send one message',
    description:
      'Answered once the message and its debit are durably stored. A field that is not listed is refused.',
  }),
  get: endpoint({
    method: 'GET',
    path: '/api/v1/messages/:id',
    auth: 'api_key',
    scope: 'read_messages',
    rate: 'general',
    status: 200,
    params: messageId,
    not_found: 'Message not found',
    data: z.object({ message }),
    summary: 'Get one message',
  }),
  list: endpoint({
    method: 'GET',
    path: '/api/v1/messages',
    auth: 'api_key',
    scope: 'read_messages',
    rate: 'general',
    status: 200,
    query: z.object({
      channel: z.enum(CHANNELS, channelText(CHANNELS)).optional(),
      status: z.enum(LISTED_STATUSES).optional(),
      startDate: dateTime.optional(),
      endDate: dateTime.optional(),
      bulk_id: uuid.optional(),
      recipient: text(LIMITS.email_length).optional(),
      page,
      limit,
      cursor: text(LIMITS.cursor_length).optional().meta({
        description: 'The `next_cursor` of the page before; `page` is not looked at then.',
      }),
    }),
    data: z.object({
      messages: z.array(message),
      pagination,
      next_cursor: z.string().nullable().meta({ description: 'Null on the last page.' }),
    }),
    summary: 'List messages, newest first',
  }),
} as const
