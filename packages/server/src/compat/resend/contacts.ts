import { api, type Contact, decode, endpoint, SvcError } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import * as z from 'zod'
import type { Handlers } from '../../routes/mount.ts'
import { idOrEmail, optional } from './fields.ts'
import { segmentId, segmentOf, segmentQuery } from './segments.ts'
import { answer, listQuery, pageAmong, ROOT } from './tables.ts'

const access = { auth: 'api_key', scope: 'manage_contacts', rate: 'general', ...answer } as const
const missing = { not_found: 'Contact not found' } as const

const name = z.string().nullish()
const changes = {
  first_name: name,
  last_name: name,
  unsubscribed: optional(z.boolean()),
  properties: optional(
    z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
  ),
}
/** Ids of the path, which versions before 3.3 of the package repeat in the body. */
const repeated = { audience_id: z.unknown().optional(), id: z.unknown().optional() }

const created = z.strictObject({
  email: z.string(),
  ...changes,
  audience_id: repeated.audience_id,
  segments: optional(z.array(z.strictObject({ id: z.string() }))),
  topics: optional(z.array(z.unknown()).max(0, 'Topics are not supported.')),
})
const updated = z.strictObject({ ...changes, ...repeated })

/** The name of an audience or a segment: the contacts in it have it as their tag. */
const group = { audience: z.string() }
const one = z.object({ contact: idOrEmail })
const oneInGroup = z.object({ ...group, contact: idOrEmail })
const oneAndSegment = z.object({ contact: idOrEmail, segment: segmentId })

/** The endpoints for contacts, with and without an audience. Source: https://resend.com/docs/api-reference/contacts */
export const contactEndpoints = {
  create: endpoint({
    ...access,
    method: 'POST',
    path: `${ROOT}/contacts`,
    body: created,
    summary: 'Create a contact',
  }),
  create_in: endpoint({
    ...access,
    method: 'POST',
    path: `${ROOT}/audiences/:audience/contacts`,
    params: z.object(group),
    body: created,
    summary: 'Create a contact in an audience',
  }),
  list: endpoint({
    ...access,
    method: 'GET',
    path: `${ROOT}/contacts`,
    query: listQuery,
    summary: 'List contacts, newest first',
  }),
  list_in: endpoint({
    ...access,
    method: 'GET',
    path: `${ROOT}/audiences/:audience/contacts`,
    also_at: `${ROOT}/segments/:audience/contacts`,
    params: z.object(group),
    // A version of the package repeats the id of the segment.
    query: listQuery,
    summary: 'List the contacts of an audience or a segment',
  }),
  get: endpoint({
    ...access,
    ...missing,
    method: 'GET',
    path: `${ROOT}/contacts/:contact`,
    params: one,
    summary: 'Get a contact by its id or e-mail address',
  }),
  get_in: endpoint({
    ...access,
    ...missing,
    method: 'GET',
    path: `${ROOT}/audiences/:audience/contacts/:contact`,
    params: oneInGroup,
    summary: 'Get a contact of an audience',
  }),
  update: endpoint({
    ...access,
    ...missing,
    method: 'PATCH',
    path: `${ROOT}/contacts/:contact`,
    params: one,
    body: updated,
    summary: 'Change a contact',
  }),
  update_in: endpoint({
    ...access,
    ...missing,
    method: 'PATCH',
    path: `${ROOT}/audiences/:audience/contacts/:contact`,
    params: oneInGroup,
    body: updated,
    summary: 'Change a contact of an audience',
  }),
  remove: endpoint({
    ...access,
    ...missing,
    method: 'DELETE',
    path: `${ROOT}/contacts/:contact`,
    params: one,
    summary: 'Delete a contact',
  }),
  remove_in: endpoint({
    ...access,
    ...missing,
    method: 'DELETE',
    path: `${ROOT}/audiences/:audience/contacts/:contact`,
    params: oneInGroup,
    summary: 'Remove a contact from an audience',
  }),
  segments: endpoint({
    ...access,
    ...missing,
    method: 'GET',
    path: `${ROOT}/contacts/:contact/segments`,
    params: one,
    query: segmentQuery,
    summary: 'List the segments of a contact',
  }),
  add_segment: endpoint({
    ...access,
    ...missing,
    method: 'POST',
    path: `${ROOT}/contacts/:contact/segments/:segment`,
    params: oneAndSegment,
    summary: 'Add a contact to a segment',
  }),
  remove_segment: endpoint({
    ...access,
    ...missing,
    method: 'DELETE',
    path: `${ROOT}/contacts/:contact/segments/:segment`,
    params: oneAndSegment,
    summary: 'Remove a contact from a segment',
  }),
} as const

type Changes = z.output<typeof updated>
type Target = { contact: string; audience?: string | undefined }

export function contactHandlers({
  contacts,
}: Pick<DecodedCore, 'contacts'>): Handlers<typeof contactEndpoints> {
  async function find(workspaceId: string, { contact, audience }: Target): Promise<Contact> {
    const found = contact.includes('@')
      ? await contacts.byEmail(workspaceId, contact)
      : await contacts.get(workspaceId, contact.toLowerCase())
    // Only contacts with an address are contacts of Resend.
    const isIn = audience === undefined || found.tags.includes(audience)
    if (found.email === null || !isIn) throw new SvcError('not_found', 'Contact not found')
    return found
  }

  async function create(
    workspaceId: string,
    { email, segments = [], topics: _, audience_id: __, ...changes }: z.output<typeof created>,
    audience?: string,
  ) {
    const tags = [
      ...new Set([...(audience === undefined ? [] : [audience]), ...segments.map(({ id }) => id)]),
    ]
    const before = await known(workspaceId, email)
    const fields = fieldsOf(changes, before)
    const { id } = before
      ? await contacts.update(
          workspaceId,
          before.id,
          decode(api.contacts.update.body, {
            ...fields,
            tags: [...new Set([...before.tags, ...tags])],
          }),
        )
      : await contacts.create(
          workspaceId,
          decode(api.contacts.create.body, { ...fields, email, tags }),
        )
    return { object: 'contact', id }
  }

  async function known(workspaceId: string, email: string): Promise<Contact | null> {
    try {
      return await contacts.byEmail(workspaceId, email)
    } catch (error) {
      if (error instanceof SvcError && error.code === 'not_found') return null
      throw error
    }
  }

  async function list(workspaceId: string, query: z.output<typeof listQuery>, tag?: string) {
    const { limit, after, before } = query
    const slice = { limit: limit + 1, offset: 0, after }
    const found = await contacts.list(workspaceId, { tag, newer_than: before }, slice)
    const { contacts: some } = found
    const data = before === undefined ? some.slice(0, limit) : some.slice(-limit)
    return {
      object: 'list',
      has_more: some.length > limit,
      data: data.map(summaryOf),
    }
  }

  async function update(workspaceId: string, target: Target, changes: Changes) {
    const before = await find(workspaceId, target)
    const { id } = await contacts.update(
      workspaceId,
      before.id,
      decode(api.contacts.update.body, fieldsOf(changes, before)),
    )
    return { object: 'contact', id }
  }

  async function leave(workspaceId: string, target: Target & { audience: string }) {
    const { id, tags } = await find(workspaceId, target)
    const rest = tags.filter((tag) => tag !== target.audience)
    return contacts.update(workspaceId, id, { tags: rest })
  }

  const get = async (workspaceId: string, target: Target) => {
    const found = await find(workspaceId, target)
    return { object: 'contact', ...summaryOf(found), properties: propertiesOf(found) }
  }

  return {
    create: ({ workspace_id, body }) => create(workspace_id, body),
    create_in: ({ workspace_id, body, params }) => create(workspace_id, body, params.audience),
    list: ({ workspace_id, query }) => list(workspace_id, query),
    list_in: ({ workspace_id, query, params }) => list(workspace_id, query, params.audience),
    get: ({ workspace_id, params }) => get(workspace_id, params),
    get_in: ({ workspace_id, params }) => get(workspace_id, params),
    update: ({ workspace_id, params, body }) => update(workspace_id, params, body),
    update_in: ({ workspace_id, params, body }) => update(workspace_id, params, body),
    async remove({ workspace_id, params }) {
      const { id } = await find(workspace_id, params)
      await contacts.delete(workspace_id, id)
      return { object: 'contact', contact: params.contact, deleted: true }
    },
    async remove_in({ workspace_id, params }) {
      await leave(workspace_id, params)
      return { object: 'contact', contact: params.contact, deleted: true }
    },
    async segments({ workspace_id, params, query }) {
      const { tags } = await find(workspace_id, params)
      const page = pageAmong(
        tags.toSorted().map((id) => ({ id })),
        query,
      )
      const data = []
      for (const { id } of page.data) {
        const segment = await segmentOf(contacts, workspace_id, id)
        // Another request may have removed the tag meanwhile.
        if (segment) data.push(segment)
      }
      return { ...page, data }
    },
    async add_segment({ workspace_id, params: { contact, segment } }) {
      const { id, tags } = await find(workspace_id, { contact })
      const all = { tags: [...new Set([...tags, segment])] }
      await contacts.update(workspace_id, id, decode(api.contacts.update.body, all))
      return { id: segment }
    },
    async remove_segment({ workspace_id, params: { contact, segment } }) {
      const { id } = await leave(workspace_id, { contact, audience: segment })
      return { id, audienceId: segment, deleted: true }
    },
  }
}

const NAMES = ['first_name', 'last_name'] as const

/** The fields of a contact of the service. Names and properties are attributes; null removes one. */
function fieldsOf({ unsubscribed, properties, ...names }: Changes, before: Contact | null) {
  const given = { ...properties }
  for (const name of NAMES) if (names[name] !== undefined) given[name] = names[name]
  const attributes = Object.fromEntries(
    Object.entries({ ...before?.attributes, ...given }).filter(([, value]) => value !== null),
  )
  const full = NAMES.map((name) => attributes[name]).filter(
    (part) => typeof part === 'string' && part !== '',
  )
  const hasNames = NAMES.some((name) => names[name] !== undefined)
  return {
    attributes,
    ...(hasNames && { name: full.length > 0 ? full.join(' ') : null }),
    ...(unsubscribed !== undefined && {
      subscriptions: { email: unsubscribed ? ('unsubscribed' as const) : ('subscribed' as const) },
    }),
  }
}

function summaryOf({ id, email, name, attributes, subscriptions, created_at }: Contact) {
  const { first_name, last_name } = attributes
  const hasNames = first_name !== undefined || last_name !== undefined
  return {
    id,
    email: email ?? '',
    first_name: typeof first_name === 'string' ? first_name : hasNames ? null : name,
    last_name: typeof last_name === 'string' ? last_name : null,
    created_at: created_at.toISOString(),
    unsubscribed: subscriptions.email === 'unsubscribed',
  }
}

function propertiesOf({ attributes }: Contact) {
  const entries = Object.entries(attributes).filter(([name]) => !NAMES.some((one) => one === name))
  return Object.fromEntries(
    entries.flatMap(([name, value]) =>
      typeof value === 'string' || typeof value === 'number'
        ? [[name, { type: typeof value, value }]]
        : [],
    ),
  )
}
