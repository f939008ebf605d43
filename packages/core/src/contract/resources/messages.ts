import * as z from 'zod'
import { endpoint } from '../endpoints/endpoint.ts'
import {
  exportNext,
  exportQuery,
  limit,
  listQuery,
  nextAfter,
  pagination,
} from '../endpoints/paging.ts'
import {
  credits,
  dateTime,
  phoneOrText,
  queryDateTime,
  text,
  timestamp,
  uuid,
} from '../fields/fields.ts'
import { LIMITS } from '../limits.ts'
import { CHANNELS } from './content.ts'
import { estimateFor } from './estimate.ts'
import { MESSAGE_STATUSES } from './mail-recipients.ts'
import { message, storedContent } from './message.ts'
import { plainSend, sentJson } from './plain-send.ts'
import { channelText, sendRequest } from './send-request.ts'
import { templateName, usedTemplate } from './template-use.ts'
import { timelineEntry } from './timeline.ts'

export type { Metadata } from '../fields/fields.ts'
export type { Channel, Content } from './content.ts'
export * from './message.ts'

/** The settings of a service that its API depends on. */
export interface ApiOptions {
  voice: boolean
  attachments_max_bytes?: number | undefined
}

/** The statuses that can filter a list; `read` cannot. Source: interface. `canceled` is an addition. */
const LISTED_STATUSES = ['queued', 'sent', 'delivered', 'failed', 'canceled'] as const

const reading = { auth: 'api_key', scope: 'read_messages', rate: 'general', status: 200 } as const
const oneMessage = { params: z.object({ id: uuid }), not_found: 'Message not found' } as const

/** The filters of the list of messages. */
const filters = {
  channel: z.enum(CHANNELS, channelText(CHANNELS)).optional(),
  status: z.enum(LISTED_STATUSES).optional().meta({
    description: '`failed` includes canceled messages; `canceled` selects only these.',
  }),
  startDate: queryDateTime.optional(),
  endDate: queryDateTime.optional(),
  bulk_id: uuid.optional(),
  recipient: phoneOrText(text(LIMITS.email_length)).optional(),
  sender: phoneOrText(text(LIMITS.sender_name_length)).optional().meta({
    description: 'Only messages whose request had this `from`.',
  }),
  template: templateName.optional().meta({
    description: 'Only messages from the template with this name.',
  }),
}

/** A message of an export. */
export const exportedMessage = message
  .extend({
    content: storedContent.nullable().meta({
      description: 'Null if it is longer than 32 KB: `GET /api/v1/messages/:id` has it.',
    }),
  })
  .meta({ id: 'ExportedMessage' })

/** The maximum of a request to send one message, whose files have at most so many decoded bytes. */
export function sendBodyBytes(
  attachments_max_bytes: number = LIMITS.email_attachments_bytes,
): number {
  return LIMITS.send_body_bytes + 4 * Math.ceil(attachments_max_bytes / 3)
}

/**
 * Messages. `voice`: whether a voice provider is configured. `attachments_max_bytes`: the maximum of the decoded files of an
 * e-mail. Source: interface, Messages.
 */
export const messagesFor = ({ voice, attachments_max_bytes }: ApiOptions) =>
  ({
    send: endpoint({
      method: 'POST',
      path: '/api/v1/messages/send',
      auth: 'api_key',
      scope: 'send_messages',
      rate: 'general',
      status: 201,
      idempotent: true,
      failures: ['insufficient_credits'],
      body_limit: sendBodyBytes(attachments_max_bytes),
      takes_files: true,
      body: sendRequest({ voice }),
      read_plain: plainSend,
      write_data: sentJson,
      data: z.object({
        message_id: uuid,
        status: z.literal('queued'),
        credits_used: credits,
        created_at: timestamp,
        template: usedTemplate.exactOptional().meta({
          description: 'Only for a message from a template: its version and locale.',
        }),
        deferred_until: timestamp.exactOptional().meta({
          description: 'Only for a message that waits for the end of quiet hours: when it is sent.',
        }),
      }),
      summary: 'Send one message',
      description:
        'The answer follows when the message and its debit are stored durably. Unknown fields are refused. `template` in place of `content` sends a stored template.',
    }),
    get: endpoint({
      ...reading,
      method: 'GET',
      path: '/api/v1/messages/:id',
      ...oneMessage,
      data: z.object({ message }),
      summary: 'Get one message',
    }),
    timeline: endpoint({
      ...reading,
      method: 'GET',
      path: '/api/v1/messages/:id/timeline',
      ...oneMessage,
      data: z.object({ timeline: z.array(timelineEntry) }),
      summary: 'Get the history of a message, oldest first',
      description:
        'Changes of its status, attempts to send it, credits, and deliveries to webhooks. A cause stands before its effect, even if both have the same millisecond or a clock was set back.',
    }),
    cancel: endpoint({
      method: 'POST',
      path: '/api/v1/messages/:id/cancel',
      auth: 'api_key',
      scope: 'send_messages',
      rate: 'general',
      status: 200,
      failures: ['validation_error'],
      ...oneMessage,
      data: z.object({ message }),
      summary: 'Cancel a message that is still queued',
      description: 'It fails as `canceled` and is refunded.',
    }),
    reschedule: endpoint({
      method: 'POST',
      path: '/api/v1/messages/:id/reschedule',
      auth: 'api_key',
      scope: 'send_messages',
      rate: 'general',
      status: 200,
      ...oneMessage,
      body: z.object({
        scheduled_at: dateTime.meta({
          description: 'The new time, at most 35 days ahead; a past time means now.',
        }),
      }),
      data: z.object({ message }),
      summary: 'Give a message that is still queued a new time',
      description:
        'The expiry of the message keeps its distance from the time. A call keeps its time.',
    }),
    erase: endpoint({
      method: 'DELETE',
      path: '/api/v1/messages/:id',
      auth: 'api_key',
      scope: 'send_messages',
      rate: 'general',
      status: 200,
      failures: ['validation_error'],
      ...oneMessage,
      data: z.object({ message: z.string() }),
      summary: 'Erase one message',
      description:
        'Takes the id of a sent or a received message. A sent message keeps its status and its price; its recipient, content and metadata are removed. A received message is removed. A message that is still queued is refused: cancel it first.',
    }),
    redact: endpoint({
      method: 'POST',
      path: '/api/v1/messages/:id/redact',
      auth: 'api_key',
      scope: 'send_messages',
      rate: 'general',
      status: 200,
      failures: ['validation_error'],
      ...oneMessage,
      data: z.object({ message: z.string() }),
      summary: 'Remove the content of one message',
      description:
        'Takes the id of a sent or a received message. Recipient, status and metadata stay. A message that is still queued is refused.',
    }),
    estimate: estimateFor({ voice }),
    list: endpoint({
      ...reading,
      method: 'GET',
      path: '/api/v1/messages',
      in_pieces: true,
      query: listQuery({
        ...filters,
        before: uuid.optional().meta({
          description:
            'Only the items before the item with this id, in the order of the list: the page that precedes it. Not with `page`, `after` or `cursor`.',
        }),
        cursor: text(LIMITS.cursor_length)
          .optional()
          .meta({ description: 'The `next_cursor` of the previous page; `page` is then ignored.' }),
      }),
      data: z.object({
        messages: z.array(message),
        pagination,
        next_cursor: z.string().nullable().meta({
          description: 'Null on the last page. `next_after` has the same use and is in every list.',
        }),
        next_after: nextAfter,
      }),
      summary: 'List messages, newest first',
    }),
    export: endpoint({
      ...reading,
      method: 'GET',
      path: '/api/v1/messages/export',
      gives_csv: true,
      query: z.object({ ...filters, ...exportQuery }),
      data: z.object({ messages: z.array(exportedMessage), next_after: exportNext }),
      summary: 'Export messages, newest first',
      description:
        'The answer is streamed while it is read, without the messages that are accepted meanwhile. In CSV, `subject` and `text` are empty for a content longer than 32 KB, and no cell runs as a formula in a spreadsheet. A workspace may have 2 exports in flight.',
    }),
  }) as const

/** Messages of a service without a voice provider. */
export const messages = messagesFor({ voice: false })

/** The query of a search among the messages of a workspace. */
export const messageSearch = z.object({
  search: phoneOrText(text(LIMITS.message_search_length)).optional(),
  channel: z.enum(CHANNELS).optional(),
  /** `failed` includes canceled messages, `failed_only` does not. */
  status: z.enum([...MESSAGE_STATUSES, 'canceled', 'delivered_or_read', 'failed_only']).optional(),
  startDate: queryDateTime.optional(),
  endDate: queryDateTime.optional(),
  bulk_id: uuid.optional(),
  broadcast_id: uuid.optional(),
  error_code: text(LIMITS.message_search_length).optional(),
  api_key_id: uuid.optional(),
  sender: phoneOrText(text(LIMITS.sender_name_length)).optional(),
  /** The name or the value of a tag of an e-mail. */
  tag: text(LIMITS.email_tag_length).optional(),
  /** Only messages to numbers with this calling code, without `+`. */
  calling_code: z
    .string()
    .regex(/^[1-9]\d{0,2}$/)
    .optional(),
  /** Only messages to the addresses of this contact. */
  contact_id: uuid.optional(),
  after: uuid.optional(),
  limit,
})

/** The query of a search among the messages of a workspace. */
export type MessageSearch = z.output<typeof messageSearch>

/** The filters that a person may save: those that name no recipient, so that an erasure has nothing to remove in them. */
const savedFilterValues = z.strictObject({
  channel: z.enum(CHANNELS).optional(),
  status: messageSearch.shape.status,
  /** The hours before now, or `dates` with `from` and `to`. */
  period: z
    .string()
    .regex(/^(dates|[1-9]\d{0,3})$/)
    .optional(),
  from: z.iso.date().optional(),
  to: z.iso.date().optional(),
  bulk_id: uuid.optional(),
  broadcast_id: uuid.optional(),
  error_code: messageSearch.shape.error_code,
  api_key_id: uuid.optional(),
  sender: messageSearch.shape.sender,
  tag: messageSearch.shape.tag,
  calling_code: messageSearch.shape.calling_code,
})

/** The filters that a person may save. */
export type SavedFilterValues = z.output<typeof savedFilterValues>

/** A filter to save. */
export const newSavedFilter = z.strictObject({
  name: text(LIMITS.saved_filter_name_length),
  filter: savedFilterValues,
})

/** A saved filter of messages. */
export const savedFilter = newSavedFilter.extend({ id: uuid })

/** A saved filter of messages. */
export type SavedFilter = z.output<typeof savedFilter>

/** The query of an export of messages, with all filters of the console. */
export const messageExport = messageSearch.extend({
  recipient: phoneOrText(text(LIMITS.email_length)).optional(),
  template: templateName.optional(),
  limit: exportQuery.limit,
})

/** The query of an export of messages. */
export type MessageExport = z.output<typeof messageExport>
