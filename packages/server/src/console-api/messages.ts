import { Readable } from 'node:stream'
import {
  api,
  CHANNELS,
  credits,
  endpoint,
  LIMITS,
  limit,
  message,
  messageExport,
  messageSearch,
  newSavedFilter,
  nextAfter,
  receivedMessage,
  savedFilter,
  timestamp,
  uuid,
} from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import * as z from 'zod'
import { type Identity, keyOf } from '../admission/authenticator.ts'
import type { Export } from '../routes/exports.ts'
import { exported } from '../routes/messages.ts'
import { type Handlers, sessionOf } from '../routes/mount.ts'

const reading = {
  method: 'GET',
  auth: 'jwt',
  needs: 'read',
  rate: 'general',
  status: 200,
} as const
const oneMessage = { params: z.object({ id: uuid }), not_found: 'Message not found' } as const

const foundMessage = message.extend({
  content: message.shape.content.nullable(),
  contact: z.object({ id: uuid, name: z.string().nullable() }).nullable(),
})

const count = z.int().min(0)

/** Messages and bulks as the console shows them. */
export const consoleMessages = {
  search: endpoint({
    ...reading,
    path: '/api/messages',
    query: messageSearch,
    data: z.object({
      messages: z.array(foundMessage),
      total: count.nullable(),
      next_after: z.string().nullable(),
      searched_until: timestamp.nullable(),
    }),
    summary: 'List messages, or search some of them, newest first',
  }),
  export: endpoint({
    ...reading,
    path: '/api/messages/export',
    gives_csv: true,
    query: messageExport.extend({ format: z.literal('csv') }),
    data: z.object({}),
    summary: 'Export the messages of a search as CSV',
  }),
  preview: endpoint({
    method: 'POST',
    path: '/api/bulks/preview',
    auth: 'jwt',
    needs: 'send',
    rate: 'general',
    status: 200,
    body_limit: LIMITS.bulk_body_bytes,
    body: api.bulks.send.body,
    data: z.object({
      to: z.string().nullable(),
      content: message.shape.content.nullable(),
      message: z.string().nullable(),
    }),
    summary: 'Show the message that one recipient of a bulk would get',
  }),
  bulks: endpoint({
    ...reading,
    path: '/api/bulks',
    query: z.object({
      id: uuid.optional(),
      channel: z.enum(CHANNELS).optional(),
      after: uuid.optional(),
      limit,
    }),
    data: z.object({
      bulks: z.array(
        z.object({
          id: uuid,
          /** The campaign of the request; null without one. */
          name: z.string().nullable(),
          /** Null if it is too long for a list, or not stored. */
          content: message.shape.content.nullable(),
          channel: z.enum(CHANNELS),
          status: z.enum(['queued', 'processing', 'completed']),
          total: count,
          accepted: count,
          rejected: count,
          duplicates: count,
          queued: count,
          failed: count,
          canceled: count,
          credits_used: credits,
          livemode: z.boolean(),
          created_at: timestamp,
          paused_at: timestamp.nullable(),
          /** The earliest schedule of a queued message. */
          scheduled_at: timestamp.nullable(),
        }),
      ),
      next_after: z.string().nullable(),
    }),
    summary: 'List bulks, newest first',
  }),
} as const

const savedFilters = { auth: 'jwt', needs: 'read', rate: 'general', status: 200 } as const
const oneFilter = {
  path: '/api/saved-filters/:id',
  params: z.object({ id: uuid }),
  not_found: 'Saved filter not found',
} as const

/** The filters of messages that a person saved in the workspace. */
export const savedFilterEndpoints = {
  list: endpoint({
    ...savedFilters,
    method: 'GET',
    path: '/api/saved-filters',
    data: z.object({ saved_filters: z.array(savedFilter) }),
    summary: 'List the saved filters of the person',
  }),
  add: endpoint({
    ...savedFilters,
    method: 'POST',
    path: '/api/saved-filters',
    body: newSavedFilter,
    data: z.object({ saved_filter: savedFilter }),
    summary: 'Save a filter of messages',
  }),
  change: endpoint({
    ...savedFilters,
    ...oneFilter,
    method: 'PUT',
    body: newSavedFilter,
    data: z.object({ saved_filter: savedFilter }),
    summary: 'Rename or change a saved filter',
  }),
  remove: endpoint({
    ...savedFilters,
    ...oneFilter,
    method: 'DELETE',
    data: z.object({ message: z.string() }),
    summary: 'Delete a saved filter',
  }),
} as const

/** The handlers of saved filters. */
export function savedFilterHandlers({
  savedFilters,
}: DecodedCore): Handlers<typeof savedFilterEndpoints> {
  const ownerOf = (identity: Identity | null) => {
    const { workspace_id, user_id } = sessionOf(identity)
    return { workspace_id, user_id }
  }
  return {
    async list({ identity }) {
      return { saved_filters: await savedFilters.list(ownerOf(identity)) }
    },
    async add({ identity, body }) {
      return { saved_filter: await savedFilters.add(ownerOf(identity), body) }
    },
    async change({ identity, params, body }) {
      return { saved_filter: await savedFilters.change(ownerOf(identity), params.id, body) }
    },
    async remove({ identity, params }) {
      await savedFilters.remove(ownerOf(identity), params.id)
      return { message: 'Saved filter deleted' }
    },
  }
}

/** The HTML of an e-mail as a document of its own, for a frame. Frames send no headers, so the choices are in the query. */
export const messageHtml = {
  get: endpoint({
    ...reading,
    ...oneMessage,
    path: '/api/messages/:id/html',
    in_pieces: true,
    query: z.object({ workspace: uuid.optional(), mode: z.enum(['live', 'test']).optional() }),
    data: z.object({}),
    summary: 'Show the HTML of an e-mail',
  }),
} as const

/** A shown mail runs no script, loads nothing and opens no link. Only its own styles and images are shown. */
export const MAIL_CSP =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; " +
  "frame-ancestors 'self'; sandbox"

/** The handlers of messages and bulks as the console shows them. */
export function consoleMessageHandlers(
  { messages }: DecodedCore,
  exportRows: Export,
): Handlers<typeof consoleMessages> {
  return {
    preview: ({ identity, body }) => messages.bulks.preview(keyOf(identity), body),
    export({ viewer, workspace_id, query, reply }) {
      const { format, ...selected } = query
      const pages = messages.export(viewer, selected)
      const { limit } = selected
      return exportRows({ ...exported, reply, workspace_id, format, limit, pages })
    },
    search: ({ viewer, query }) => messages.search(viewer, query),
    bulks: ({ viewer, query }) => messages.bulks.list(viewer, { ...query, offset: 0 }),
  }
}

/** The handler that shows the HTML of an e-mail in a frame. */
export function messageHtmlHandlers({ messages }: DecodedCore): Handlers<typeof messageHtml> {
  return {
    async get({ viewer, params, reply }) {
      const { content } = await messages.get(viewer, params.id)
      reply.header('content-type', 'text/html; charset=utf-8')
      reply.header('content-security-policy', MAIL_CSP)
      reply.header('x-dns-prefetch-control', 'off')
      reply.header('referrer-policy', 'no-referrer')
      return Readable.from([('html' in content && content.html) || ''], { objectMode: false })
    },
  }
}

/** The conversations of the console: the newest message of each author. */
export const conversationEndpoints = {
  list: endpoint({
    ...reading,
    path: '/api/conversations',
    query: z.object({ limit, after: uuid.optional() }),
    data: z.object({
      conversations: z.array(
        receivedMessage.extend({
          contact: z.object({ id: uuid, name: z.string().nullable() }).nullable(),
        }),
      ),
      next_after: nextAfter,
    }),
    summary: 'List the newest message of each author, newest first',
  }),
} as const

/** The handler of the conversations. */
export function conversationHandlers({
  received,
}: DecodedCore): Handlers<typeof conversationEndpoints> {
  return { list: ({ viewer, query }) => received.conversations(viewer, query) }
}

const header = z.object({ name: z.string(), value: z.string().nullable() })

/** The requests to a webhook as the receiver got them. The API shows no signatures; only people who develop see them here. */
export const sentRequestEndpoints = {
  list: endpoint({
    ...reading,
    needs: 'develop',
    path: '/api/webhooks/:id/deliveries/:delivery_id/requests',
    params: z.object({ id: uuid, delivery_id: uuid }),
    not_found: 'Delivery not found',
    data: z.object({
      requests: z.array(z.object({ number: z.int(), headers: z.array(header), body: z.string() })),
    }),
    summary: 'Show the requests of a delivery with their headers',
  }),
} as const

/** The handlers of the requests to a webhook. */
export function sentRequestHandlers(core: DecodedCore): Handlers<typeof sentRequestEndpoints> {
  return {
    async list({ viewer, params: { id, delivery_id } }) {
      return { requests: await core.webhooks.requests(viewer, id, delivery_id) }
    },
  }
}
