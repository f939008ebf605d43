import * as z from 'zod'
import { credits, isRecord, jsonObject, timestamp, uuid } from '../fields/fields.ts'
import { CHANNELS, type Content } from './content.ts'
import { MESSAGE_STATUSES, mailRecipient } from './mail-recipients.ts'
import { usedTemplate } from './template-use.ts'

export { MESSAGE_STATUSES, type MessageStatus } from './mail-recipients.ts'

/** The encodings of an SMS. */
export const SMS_ENCODINGS = ['GSM-7', 'UCS-2'] as const

/** The encoding of an SMS. */
export type SmsEncoding = (typeof SMS_ENCODINGS)[number]

/** The value of `recipient` after its erasure. */
export const ERASED = 'erased'

/** Content that was validated in the request is not validated again in the answer. */
export const storedContent = z
  .custom<Content>(isRecord)
  .meta({ type: 'object', additionalProperties: true, example: { text: 'Your order A1 is ready' } })

/** The record of a message. Source: interface, Message; contract section 6. */
export const message = z
  .object({
    id: uuid,
    workspace_id: uuid,
    channel: z.enum(CHANNELS),
    /** The recipient; `erased` after an erasure. */
    recipient: z.string(),
    recipients: z.array(mailRecipient).exactOptional().meta({
      description:
        'Only for an e-mail with several recipients: the state of each recipient. `recipient` is then the first one.',
    }),
    sender: z.string().nullable().meta({
      description:
        'The `from` of the request. Null without one, and after an erasure; for an e-mail the display name.',
    }),
    content: storedContent,
    status: z.enum(MESSAGE_STATUSES),
    credits_used: credits,
    /** The refunded part of `credits_used`. */
    credits_refunded: credits,
    provider: z.string().nullable(),
    provider_message_id: z.string().nullable(),
    /** A stable code for the failure. */
    error_code: z.string().nullable(),
    error_message: z.string().nullable(),
    metadata: jsonObject,
    segments: z.int().nullable(),
    encoding: z.enum(SMS_ENCODINGS).nullable(),
    bulk_id: uuid.nullable(),
    /** False if the message was sent with a test key. */
    livemode: z.boolean(),
    created_at: timestamp,
    updated_at: timestamp,
    scheduled_at: timestamp.nullable(),
    expires_at: timestamp.nullable(),
    sent_at: timestamp.nullable(),
    delivered_at: timestamp.nullable(),
    read_at: timestamp.nullable(),
    failed_at: timestamp.nullable(),
    duration_s: z.int().min(0).exactOptional().meta({
      description:
        'Only for a call that ended, if the provider reported it: its duration in seconds, 0 if it was not answered.',
    }),
    template: usedTemplate.exactOptional().meta({
      description: 'Only for a message from a stored template. `content` is the filled-in text.',
    }),
    deferred_until: timestamp.exactOptional().meta({
      description:
        'Only for a message that quiet hours deferred: their end. It is also its `scheduled_at`.',
    }),
    erased_at: timestamp.nullable().meta({
      description:
        'When recipient, content and metadata were erased: `recipient` is then `erased`, `content` and `metadata` are empty.',
    }),
  })
  .meta({ id: 'Message' })

/** The record of a message. */
export type Message = z.output<typeof message>
