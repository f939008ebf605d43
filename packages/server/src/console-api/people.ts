import {
  contact,
  endpoint,
  message,
  nextAfter,
  personHistory,
  personSearch,
  receivedMessage,
  suppression,
  uuid,
  verification,
} from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import * as z from 'zod'
import type { Handlers } from '../routes/mount.ts'

const reading = {
  method: 'GET',
  auth: 'jwt',
  needs: 'read',
  rate: 'general',
  status: 200,
} as const
const onePerson = { params: z.object({ id: uuid }), not_found: 'Contact not found' } as const

const { id, name, phone, email, tags } = contact.shape

const entry = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('message'),
    /** The content is null if it is too long for a list. */
    message: message.extend({ content: message.shape.content.nullable() }),
    /** The bulk, or the broadcast and its step, that sent it; null for a single message. */
    bulk: z
      .object({ id: uuid, name: z.string().nullable(), broadcast_id: uuid.nullable() })
      .nullable(),
  }),
  z.object({ kind: z.literal('received'), received: receivedMessage }),
  z.object({ kind: z.literal('verification'), verification }),
])

/** Contacts as people: found by the beginnings of their names, and with all that happened. */
export const peopleEndpoints = {
  find: endpoint({
    ...reading,
    path: '/api/people',
    query: personSearch,
    data: z.object({ people: z.array(z.object({ id, name, phone, email, tags })) }),
    summary: 'Find contacts by the beginnings of words',
  }),
  tags: endpoint({
    ...reading,
    path: '/api/tags',
    data: z.object({ tags: z.array(z.string()) }),
    summary: 'List the first 100 tags that contacts have, in their order',
  }),
  get: endpoint({
    ...reading,
    ...onePerson,
    path: '/api/people/:id',
    data: z.object({
      contact,
      suppressions: z.array(suppression.extend({ received_id: uuid.nullable() })),
      zone: z.object({
        time_zone: z.string(),
        source: z.enum(['contact', 'country', 'workspace']),
      }),
    }),
    summary: 'Show a contact with its suppressions and its time zone',
  }),
  history: endpoint({
    ...reading,
    ...onePerson,
    path: '/api/people/:id/history',
    query: personHistory,
    data: z.object({ entries: z.array(entry), next_after: nextAfter }),
    summary: 'List all messages of a contact, and its one-time codes, newest first',
  }),
} as const

/** The tags that pages offer: more do not belong into a list of buttons. */
const TAGS_MAX = 100

/** The handlers of people. */
export function peopleHandlers({
  people,
  contacts,
}: DecodedCore): Handlers<typeof peopleEndpoints> {
  return {
    async tags({ workspace_id }) {
      const { tags } = await contacts.tags(workspace_id, { limit: TAGS_MAX })
      return { tags: tags.map(({ tag }) => tag) }
    },
    find: ({ workspace_id, query }) => people.find(workspace_id, query),
    get: ({ workspace_id, params }) => people.get(workspace_id, params.id),
    history: ({ viewer, params, query }) => people.history(viewer, params.id, query),
  }
}
