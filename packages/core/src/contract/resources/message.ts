import * as z from 'zod'
import { credits, isRecord, jsonObject, timestamp, uuid } from '../fields/fields.ts'
import { CHANNELS, type Content } from './content.ts'

/** The statuses of a message, in the order they come. Source: interface, Message status. */
export const MESSAGE_STATUSES = ['queued', 'sent', 'delivered', 'failed', 'read'] as const

/** Where a message stands. */
export type MessageStatus = (typeof MESSAGE_STATUSES)[number]

/** How an SMS is encoded on the air. */
export const SMS_ENCODINGS = ['GSM-7', 'UCS-2'] as const

/** How an SMS is encoded on the air. */
export type SmsEncoding = (typeof SMS_ENCODINGS)[number]

/** What stands in place of the address of a recipient that was erased. */
export const ERASED = 'erased'

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
    /** `erased` once it was erased. */
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
    erased_at: timestamp.nullable().meta({
      description:
        'When the recipient, the content and the metadata were taken out of the record: `recipient` is `erased` then, `content` and `metadata` are empty.',
    }),
  })
  .meta({ id: 'Message' })

/** The record of a message. */
export type Message = z.output<typeof message>
