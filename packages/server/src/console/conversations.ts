import { endpoint, limit, nextAfter, receivedMessage, uuid } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import * as z from 'zod'
import type { Handlers } from '../routes/mount.ts'

/** The conversations of the console: the newest message of each author. */
export const conversationEndpoints = {
  list: endpoint({
    method: 'GET',
    path: '/api/conversations',
    auth: 'jwt',
    needs: 'read',
    rate: 'general',
    status: 200,
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
