import {
  CHANNELS,
  credits,
  endpoint,
  limit,
  message,
  messageSearch,
  timestamp,
  uuid,
} from '@svc/core/contract'
import * as z from 'zod'

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
  bulks: endpoint({
    ...reading,
    path: '/api/bulks',
    query: z.object({
      channel: z.enum(CHANNELS).optional(),
      after: uuid.optional(),
      limit,
    }),
    data: z.object({
      bulks: z.array(
        z.object({
          id: uuid,
          channel: z.enum(CHANNELS),
          status: z.enum(['queued', 'processing', 'completed']),
          total: count,
          accepted: count,
          rejected: count,
          duplicates: count,
          queued: count,
          failed: count,
          credits_used: credits,
          livemode: z.boolean(),
          created_at: timestamp,
        }),
      ),
      next_after: z.string().nullable(),
    }),
    summary: 'List bulks, newest first',
  }),
} as const

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

/** What needs attention in a workspace. */
export const findingEndpoints = {
  list: endpoint({
    ...reading,
    needs: 'belong',
    path: '/api/findings',
    data: z.object({
      findings: z.array(
        z.object({
          kind: z.enum([
            'email_unverified',
            'no_credits',
            'low_balance',
            'webhook_disabled',
            'webhook_failing',
            'domain_unverified',
            'domain_failing',
            'failures',
            'provider_paused',
          ]),
          /** The object, for a link. */
          id: z.string().nullable(),
          name: z.string().nullable(),
          count: count.nullable(),
          /** The time of the next attempt; null if no delivery is pending. */
          until: timestamp.nullable(),
        }),
      ),
      /** The first steps, until a message was sent; null later, and for roles that may not read messages. */
      steps: z.object({ has_key: z.boolean(), has_webhook: z.boolean() }).nullable(),
    }),
    summary: 'List what needs attention in the workspace',
  }),
} as const
