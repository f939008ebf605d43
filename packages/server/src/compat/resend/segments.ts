import { endpoint, invalid, LIMITS, SvcError } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import * as z from 'zod'
import type { Handlers } from '../../routes/mount.ts'
import { answer, listQueryOf, ROOT } from './tables.ts'

const access = { auth: 'api_key', scope: 'manage_contacts', rate: 'general', ...answer } as const

/** A segment is a tag; its id is its name. */
export const segmentId = z.string().min(1).max(LIMITS.contact_tag_length)

/** The position in a list of segments is the id of one. */
export const segmentQuery = listQueryOf(segmentId.optional())

const one = {
  params: z.object({ audience: segmentId }),
  not_found: 'Segment not found: no contact is in it.',
} as const

/** The package does not escape ids in paths. */
const PLAIN = /^(?!\.{1,2}$)[^/?#%\\\p{Cc}]+$/u
const NAME_TEXT = `The \`name\` must be 1 to ${LIMITS.contact_tag_length} characters without / ? # % and \\, because it is the id.`

/** Contacts that lose their tag in one request: it takes some seconds. */
const REMOVED_MAX = 10_000

/** The id before that of the oldest contact. */
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000'

/** The endpoints for segments, which were audiences before. Source: https://resend.com/docs/api-reference/segments */
export const segmentEndpoints = {
  create: endpoint({
    ...access,
    method: 'POST',
    path: `${ROOT}/segments`,
    also_at: `${ROOT}/audiences`,
    body: z.strictObject({
      name: z.string().max(LIMITS.contact_tag_length, NAME_TEXT).regex(PLAIN, NAME_TEXT),
    }),
    summary: 'Return the id of a segment, which contacts can be in',
  }),
  list: endpoint({
    ...access,
    method: 'GET',
    path: `${ROOT}/segments`,
    also_at: `${ROOT}/audiences`,
    query: segmentQuery,
    summary: 'List the audiences and segments that contacts are in, by their id',
  }),
  get: endpoint({
    ...access,
    ...one,
    method: 'GET',
    path: `${ROOT}/segments/:audience`,
    also_at: `${ROOT}/audiences/:audience`,
    summary: 'Get a segment that contacts are in',
  }),
  remove: endpoint({
    ...access,
    ...one,
    method: 'DELETE',
    path: `${ROOT}/segments/:audience`,
    also_at: `${ROOT}/audiences/:audience`,
    summary: 'Remove all contacts from a segment',
  }),
} as const

type Contacts = DecodedCore['contacts']

export function segmentHandlers({
  contacts,
}: Pick<DecodedCore, 'contacts'>): Handlers<typeof segmentEndpoints> {
  return {
    // A tag exists as soon as a contact has it.
    create: ({ body: { name } }) => ({ object: 'segment', id: name, name }),
    async list({ workspace_id, query }) {
      const { tags, has_more } = await contacts.tags(workspace_id, query)
      return { object: 'list', has_more, data: tags.map(({ tag, since }) => recordOf(tag, since)) }
    },
    async get({ workspace_id, params }) {
      const found = await segmentOf(contacts, workspace_id, params.audience)
      if (!found) throw new SvcError('not_found', one.not_found)
      return { object: 'segment', ...found }
    },
    async remove({ workspace_id, params: { audience: id } }) {
      const page = { limit: 1, offset: 0 }
      const { total } = await contacts.list(workspace_id, { tag: id }, page)
      if (total === 0) throw new SvcError('not_found', one.not_found)
      if (total > REMOVED_MAX) {
        throw invalid(
          'id',
          `The segment has ${total} contacts: at most ${REMOVED_MAX} are removed from one. Change some with the API first.`,
        )
      }
      await contacts.removeTag(workspace_id, id)
      return { object: 'segment', id, deleted: true }
    },
  }
}

/** The segment with this id; null if no contact is in it. It is as old as its oldest contact. */
export async function segmentOf(
  contacts: Pick<Contacts, 'list'>,
  workspaceId: string,
  id: string,
): Promise<ReturnType<typeof recordOf> | null> {
  const oldest = { tag: id, newer_than: BEFORE_ALL }
  const [contact] = (await contacts.list(workspaceId, oldest, { limit: 1, offset: 0 })).contacts
  return contact ? recordOf(id, contact.created_at) : null
}

function recordOf(tag: string, since: Date) {
  return { id: tag, name: tag, created_at: since.toISOString() }
}
