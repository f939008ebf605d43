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

const name = z.string().max(LIMITS.contact_tag_length, NAME_TEXT).regex(PLAIN, NAME_TEXT)

/** Contacts whose tag one request changes: it takes some seconds. */
const CHANGED_MAX = 10_000

/** Broadcasts that still need the contacts of their segment. */
const OPEN = ['draft', 'scheduled', 'running', 'paused'] as const

/** The id before that of the oldest contact. */
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000'

/** The endpoints for segments, which were audiences before. Source: https://resend.com/docs/api-reference/segments */
export const segmentEndpoints = {
  create: endpoint({
    ...access,
    method: 'POST',
    path: `${ROOT}/segments`,
    also_at: `${ROOT}/audiences`,
    body: z.strictObject({ name }),
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
  update: endpoint({
    ...access,
    ...one,
    method: 'PATCH',
    path: `${ROOT}/segments/:audience`,
    body: z.strictObject({ name }),
    summary: 'Give a segment another name, and with it another id',
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
  broadcasts,
}: Pick<DecodedCore, 'contacts' | 'broadcasts'>): Handlers<typeof segmentEndpoints> {
  async function assertChangeable(workspaceId: string, id: string): Promise<void> {
    const page = { limit: 1, offset: 0 }
    const { total } = await contacts.list(workspaceId, { tag: id }, page)
    if (total === 0) throw new SvcError('not_found', one.not_found)
    if (total > CHANGED_MAX) {
      throw invalid(
        'id',
        `The segment has ${total} contacts: one request changes at most ${CHANGED_MAX}. Change some with the API first.`,
      )
    }
  }

  /** Whether a broadcast that is not finished names the tag, of this door or of the API. */
  async function isInUse(workspaceId: string, tag: string): Promise<boolean> {
    for (const status of OPEN) {
      // A workspace has at most as many open ones as one page.
      const slice = { limit: LIMITS.broadcasts_open, offset: 0, status }
      const { broadcasts: open } = await broadcasts.list(workspaceId, slice)
      const names = open.flatMap(({ audience: { tags = [], exclude_tags = [] } }) => [
        ...tags,
        ...exclude_tags,
      ])
      if (names.includes(tag)) return true
    }
    return false
  }

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
    async update({ workspace_id, params: { audience: id }, body: { name: to } }) {
      await assertChangeable(workspace_id, id)
      if (to !== id && (await isInUse(workspace_id, id))) {
        throw new SvcError(
          'forbidden',
          'A broadcast that is not finished names the segment: its id follows from the name, and cannot change now.',
        )
      }
      await contacts.replaceTag(workspace_id, id, to)
      return { object: 'segment', id: to }
    },
    async remove({ workspace_id, params: { audience: id } }) {
      await assertChangeable(workspace_id, id)
      await contacts.replaceTag(workspace_id, id, null)
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
