import * as z from 'zod'
import { endpoint } from '../endpoints/endpoint.ts'
import { limit, page, pagination } from '../endpoints/paging.ts'
import { dateTime, phoneOrText, text, timestamp, uuid } from '../fields/fields.ts'
import { LIMITS } from '../limits.ts'
import { CHANNELS } from './content.ts'
import { channelText } from './send-request.ts'

/** What one word alone asks for. */
export const KEYWORDS = ['stop', 'start', 'help'] as const

/** The record of something that a recipient wrote. */
export const receivedMessage = z
  .object({
    id: uuid,
    channel: z.enum(CHANNELS),
    /** Who wrote. */
    sender: z.string().meta({ example: '+14155552671' }),
    /** The number or address that it came to. */
    recipient: z.string().meta({ example: '+15005550006' }),
    content: z.object({
      text: z.string().nullable().meta({ example: 'Thank you!' }),
      media: z.array(z.object({ url: z.string(), content_type: z.string().nullable() })),
    }),
    /** What was done about it: see the guide on receiving messages. */
    keyword: z.enum(KEYWORDS).nullable().meta({
      description:
        'What the text asked for, where it was one of the words that the service acts on.',
    }),
    provider: z.string(),
    /** False for an answer to a message that was sent with a test key. */
    livemode: z.boolean(),
    created_at: timestamp,
  })
  .meta({ id: 'ReceivedMessage' })

/** The record of something that a recipient wrote. */
export type ReceivedMessage = z.output<typeof receivedMessage>

/** What recipients wrote. */
export const received = {
  list: endpoint({
    method: 'GET',
    path: '/api/v1/messages/received',
    auth: 'api_key',
    scope: 'read_messages',
    rate: 'general',
    status: 200,
    query: z.object({
      channel: z.enum(CHANNELS, channelText(CHANNELS)).optional(),
      sender: phoneOrText(text(LIMITS.email_length)).optional().meta({
        description: 'Only what this number or address wrote.',
      }),
      startDate: dateTime.optional(),
      endDate: dateTime.optional(),
      page,
      limit,
    }),
    data: z.object({ received: z.array(receivedMessage), pagination }),
    summary: 'List messages received, newest first',
  }),
} as const
