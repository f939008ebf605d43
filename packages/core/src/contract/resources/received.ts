import * as z from 'zod'
import { endpoint } from '../endpoints/endpoint.ts'
import { listQuery, nextAfter, pagination } from '../endpoints/paging.ts'
import { phoneOrText, queryDateTime, text, timestamp, uuid } from '../fields/fields.ts'
import { LIMITS } from '../limits.ts'
import { CHANNELS } from './content.ts'
import { channelText } from './send-request.ts'

/** The keywords that the service acts on when they are the whole text. */
export const KEYWORDS = ['stop', 'start', 'help'] as const

/** The record of a received message. */
export const receivedMessage = z
  .object({
    id: uuid,
    channel: z.enum(CHANNELS),
    /** The author. */
    sender: z.string().meta({ example: '+14155552671' }),
    /** The number or address that received the message. */
    recipient: z.string().meta({ example: '+15005550006' }),
    content: z.object({
      text: z.string().nullable().meta({ example: 'Thank you!' }),
      media: z.array(z.object({ url: z.string(), content_type: z.string().nullable() })),
    }),
    /** The keyword that the service acted on: see the guide on receiving messages. */
    keyword: z.enum(KEYWORDS).nullable().meta({
      description: 'The meaning of the text if it was one of the words that the service acts on.',
    }),
    provider: z.string(),
    /** False for a reply to a message that was sent with a test key. */
    livemode: z.boolean(),
    created_at: timestamp,
  })
  .meta({ id: 'ReceivedMessage' })

/** The record of a received message. */
export type ReceivedMessage = z.output<typeof receivedMessage>

/** Received messages. */
export const received = {
  list: endpoint({
    method: 'GET',
    path: '/api/v1/messages/received',
    auth: 'api_key',
    scope: 'read_messages',
    rate: 'general',
    status: 200,
    query: listQuery({
      channel: z.enum(CHANNELS, channelText(CHANNELS)).optional(),
      sender: phoneOrText(text(LIMITS.email_length)).optional().meta({
        description: 'Only messages of this author.',
      }),
      recipient: phoneOrText(text(LIMITS.email_length)).optional().meta({
        description: 'Only messages to this number or address.',
      }),
      startDate: queryDateTime.optional(),
      endDate: queryDateTime.optional(),
    }),
    data: z.object({ received: z.array(receivedMessage), pagination, next_after: nextAfter }),
    summary: 'List messages received, newest first',
  }),
} as const
