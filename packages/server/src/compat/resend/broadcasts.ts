import { randomUUID } from 'node:crypto'
import {
  api,
  type Body,
  type Broadcast,
  decode,
  type EmailContent,
  endpoint,
  invalid,
  LIMITS,
  RECIPIENT_EVENTS,
  type RecipientsQuery,
  SvcError,
} from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import * as z from 'zod'
import { keyOf } from '../../admission/authenticator.ts'
import type { Call, Handlers } from '../../routes/mount.ts'
import { fromContent, fromPlaceholders, toContent } from './broadcast-content.ts'
import { readTime } from './email-body.ts'
import { addresses, from, optional, withoutAbsent } from './fields.ts'
import { answer, listQuery, ONE_ID, ROOT } from './tables.ts'

const reading = {
  auth: 'api_key',
  scope: 'read_messages',
  also_scope: 'manage_contacts',
  rate: 'general',
  ...answer,
} as const
const sending = { ...reading, scope: 'send_messages' } as const
const one = { params: ONE_ID, not_found: 'Broadcast not found' } as const

const text = z.string()
const name = text.max(LIMITS.broadcast_name_length)
const segment = text.max(LIMITS.contact_tag_length)

const fields = {
  name: optional(name),
  segment_id: optional(segment),
  audience_id: optional(segment),
  from: optional(from),
  subject: optional(text),
  html: optional(text),
  text: optional(text),
  reply_to: optional(addresses('reply_to', LIMITS.email_reply_to)),
  preview_text: optional(text),
  topic_id: optional(z.never({ error: 'The `topic_id` field is not supported.' })),
}

/** Resend's events that this service does not record, or not by recipient, with the reason. */
const UNKNOWN_EVENTS: Record<string, string> = {
  opened: 'This service does not record opens.',
  clicked: 'This service does not record clicks.',
  suppressed:
    'Suppressed contacts get no e-mail, and only their number is recorded: it is `counts.suppressed` of `GET /api/v1/broadcasts/:id`.',
}

const EVENTS_TEXT = `The \`type\` must be one of ${RECIPIENT_EVENTS.join(', ')}.`
const BOUNCES_TEXT =
  'The `bounce_type` must be permanent, transient or undetermined, and needs the `type` bounced.'

const recipientQuery = listQuery
  .safeExtend({
    type: z.enum([...RECIPIENT_EVENTS, 'opened', 'clicked', 'suppressed'], EVENTS_TEXT),
    email: optional(text.max(LIMITS.email_length)),
    bounce_type: optional(z.enum(['permanent', 'transient', 'undetermined'], BOUNCES_TEXT)),
  })
  .refine(({ type, bounce_type }) => bounce_type === undefined || type === 'bounced', {
    path: ['bounce_type'],
    error: BOUNCES_TEXT,
  })

type Fields = z.output<z.ZodObject<typeof fields>>

/** The endpoints for broadcasts. Source: https://resend.com/docs/api-reference/broadcasts */
export const broadcastEndpoints = {
  create: endpoint({
    ...sending,
    rate: 'bulk',
    method: 'POST',
    path: `${ROOT}/broadcasts`,
    body_limit: LIMITS.template_body_bytes,
    body: z.strictObject({
      ...fields,
      send: optional(z.boolean()),
      scheduled_at: optional(text),
    }),
    summary: 'Create a broadcast as a draft, or send it',
  }),
  list: endpoint({
    ...reading,
    method: 'GET',
    path: `${ROOT}/broadcasts`,
    query: listQuery,
    summary: 'List broadcasts, newest first',
  }),
  get: endpoint({
    ...reading,
    ...one,
    method: 'GET',
    path: `${ROOT}/broadcasts/:id`,
    summary: 'Get a broadcast',
  }),
  recipients: endpoint({
    ...reading,
    ...one,
    method: 'GET',
    path: `${ROOT}/broadcasts/:id/recipients`,
    query: recipientQuery,
    summary: 'List the recipients of a broadcast with one event',
  }),
  clicked_links: endpoint({
    ...reading,
    ...one,
    method: 'GET',
    path: `${ROOT}/broadcasts/:id/clicked-links`,
    query: listQuery,
    summary: 'Refuse the list of clicked links, which this service does not record',
  }),
  update: endpoint({
    ...sending,
    ...one,
    method: 'PATCH',
    path: `${ROOT}/broadcasts/:id`,
    body_limit: LIMITS.template_body_bytes,
    body: z.strictObject(fields),
    summary: 'Change a draft',
  }),
  send: endpoint({
    ...sending,
    ...one,
    method: 'POST',
    path: `${ROOT}/broadcasts/:id/send`,
    body: z.strictObject({ scheduled_at: optional(text) }),
    summary: 'Send a draft, now or at a time',
  }),
  cancel: endpoint({
    ...sending,
    ...one,
    method: 'POST',
    path: `${ROOT}/broadcasts/:id/cancel`,
    summary: 'Make a scheduled broadcast a draft again, or end one that is being sent',
  }),
  duplicate: endpoint({
    ...sending,
    ...one,
    method: 'POST',
    path: `${ROOT}/broadcasts/:id/duplicate`,
    summary: 'Copy a broadcast as a draft',
  }),
  remove: endpoint({
    ...sending,
    ...one,
    method: 'DELETE',
    path: `${ROOT}/broadcasts/:id`,
    summary: 'Remove a draft or a scheduled broadcast',
  }),
} as const

/** The name of the template that holds the e-mail of one broadcast, which the list of templates leaves out. */
export const BROADCAST_TEMPLATE = /^broadcast-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const LOCALE = 'en'

/** The number of templates that old broadcasts leave to new ones. */
const ROOM = 100
const DELETED_AT_ONCE = 20

/** The size of a page of the core's list, and the most that one request reads. */
const PAGE = 100
const PAGES_MAX = 50

type Viewer = Call<unknown>['viewer']
type Caller = Pick<Call<unknown>, 'workspace_id' | 'identity' | 'viewer' | 'actor'>

/** A broadcast of Resend is a broadcast here with a template of its own, for the contacts with one tag. */
export function broadcastHandlers({
  broadcasts,
  templates,
  now,
}: Pick<DecodedCore, 'broadcasts' | 'templates'> & { now: () => Date }): Handlers<
  typeof broadcastEndpoints
> {
  async function find(viewer: Viewer, id: string): Promise<Broadcast> {
    const { broadcast } = await broadcasts.get(viewer, id)
    if (!isOwn(broadcast)) throw new SvcError('not_found', one.not_found)
    return broadcast
  }

  /** The e-mail that the broadcast sends, or that it would send now. */
  async function contentOf(workspaceId: string, { template }: Broadcast): Promise<EmailContent> {
    // Never the draft of the template: the broadcast sends a version.
    const version = template.version ?? (await templates.get(workspaceId, template.name)).version
    if (version === null) throw new SvcError('not_found', one.not_found)
    const { variants } = await templates.version(workspaceId, template.name, version)
    const found = variants.find(({ channel }) => channel === 'email')
    if (!found) throw new SvcError('not_found', one.not_found)
    return found.content as EmailContent
  }

  /** Stores and publishes the e-mail of a broadcast in one transaction. */
  async function publish(
    { workspace_id, actor }: Pick<Caller, 'workspace_id' | 'actor'>,
    name: string,
    content: Partial<EmailContent>,
  ): Promise<void> {
    const variants = [{ channel: 'email', locale: LOCALE, content }]
    const made = { templates: [{ name, category: 'marketing', variants }] }
    await ofBroadcast(name, async () =>
      templates.push(workspace_id, decode(api.templates.push.body, made), actor),
    )
  }

  /** Deletes the templates of the oldest broadcasts that have ended, if there is little room for new templates. */
  async function makeRoom({ workspace_id, actor }: Caller): Promise<void> {
    const { total } = await templates.list(workspace_id, { limit: 1, offset: 0 })
    if (total <= LIMITS.templates - ROOM) return
    const ended = await broadcasts.endedTemplates(workspace_id)
    const own = ended.filter((name) => BROADCAST_TEMPLATE.test(name))
    for (const name of own.slice(0, DELETED_AT_ONCE)) {
      await templates.delete(workspace_id, name, actor).catch((error: unknown) => {
        // Another request has deleted it.
        if (!(error instanceof SvcError && error.code === 'not_found')) throw error
      })
    }
  }

  /** Stores a draft, or one that begins at once or at its time. Without the broadcast, its template does not stay. */
  async function store(
    caller: Caller,
    content: Partial<EmailContent>,
    request: Pick<Broadcast, 'name' | 'audience' | 'from'> & {
      draft: boolean
      scheduled_at?: string | undefined
    },
  ): Promise<string> {
    const { workspace_id, identity, actor } = caller
    const template = `broadcast-${randomUUID()}`
    await makeRoom(caller)
    await publish({ workspace_id, actor }, template, content)
    try {
      const { name, from, ...rest } = request
      const named = { name: name ?? undefined, from: from ?? undefined }
      const body = { ...rest, ...named, channel: 'email', template: { name: template } }
      const read = decode(api.broadcasts.create.body, withoutAbsent(body))
      const create = () => broadcasts.create(keyOf(identity), read, {}, actor)
      return (await ofBroadcast(template, create)).data.broadcast.id
    } catch (error) {
      await templates.delete(workspace_id, template, actor)
      throw error
    }
  }

  /** The broadcasts from the newest, or after `after`, up to `before` or one more than `limit`. */
  async function some(
    viewer: Viewer,
    { limit, after, before }: z.output<typeof listQuery>,
  ): Promise<Broadcast[]> {
    const found: Broadcast[] = []
    let from = after?.toLowerCase()
    for (let page = 0; page < PAGES_MAX; page++) {
      const slice = { limit: PAGE, offset: 0, after: from }
      const { broadcasts: all, next_after } = await broadcasts.list(viewer, slice)
      for (const each of all) {
        if (before !== undefined && each.id <= before.toLowerCase()) return found
        if (isOwn(each)) found.push(each)
        if (before === undefined && found.length > limit) return found
      }
      if (next_after === null) return found
      from = next_after
    }
    return found
  }

  return {
    async create({ body, ...caller }) {
      const { name, send = false, scheduled_at, from, ...given } = body
      if (scheduled_at !== undefined && !send) {
        throw invalid('scheduled_at', 'The `scheduled_at` field needs `send: true`.')
      }
      if (!from) throw missing('from')
      const audience = audienceOf(given)
      if (!audience) throw missing('segment_id')
      if (given.subject === undefined) throw missing('subject')
      const id = await store(caller, toContent({ ...given, from }), {
        name: name || given.subject.slice(0, LIMITS.broadcast_name_length) || null,
        ...{ audience, from: from.name, draft: !send },
        scheduled_at: scheduled_at && readTime(scheduled_at, now()).toISOString(),
      })
      return { object: 'broadcast', id }
    },
    async list({ viewer, query }) {
      const { limit, before } = query
      const found = await some(viewer, query)
      const page = before === undefined ? found.slice(0, limit) : found.slice(-limit)
      return { object: 'list', has_more: found.length > limit, data: page.map(summaryOf) }
    },
    async get({ workspace_id, viewer, params }) {
      const found = await find(viewer, params.id)
      const mail = fromContent(await contentOf(workspace_id, found))
      return {
        object: 'broadcast',
        ...summaryOf(found),
        ...mail,
        from: found.from === null ? mail.from : `${found.from} <${mail.from}>`,
        topic_id: null,
      }
    },
    async recipients({ viewer, params, query: { type, bounce_type, email, ...page } }) {
      const { id } = await find(viewer, params.id)
      const reason = UNKNOWN_EVENTS[type]
      if (reason !== undefined) throw invalid('type', reason)
      // A bounce that does not suppress the address may be transient or not: the service does not know it.
      if (bounce_type === 'transient') return { object: 'list', has_more: false, data: [] }
      const { recipients, has_more } = await broadcasts.recipients(viewer, id, {
        event: type as RecipientsQuery['event'],
        address: email,
        ...(bounce_type && { is_permanent: bounce_type === 'permanent' }),
        ...page,
      })
      const data = recipients.map(({ message_id, contact_id, address, is_permanent }) => ({
        ...{ id: message_id, contact_id, email: address },
        ...(type === 'bounced' && { bounce_type: is_permanent ? 'permanent' : 'undetermined' }),
      }))
      return { object: 'list', has_more, data }
    },
    async clicked_links({ viewer, params }) {
      await find(viewer, params.id)
      throw invalid('id', UNKNOWN_EVENTS.clicked as string)
    },
    async update({ workspace_id, identity, viewer, params, body, actor }) {
      const before = await find(viewer, params.id)
      assertDraft(before)
      const { name, from, ...given } = body
      const { template } = before
      const audience = audienceOf(given)
      const stored = fromContent(await contentOf(workspace_id, before))
      const mail = { ...presentOf(stored), ...presentOf(given) }
      const sender = from ?? { name: before.from, address: stored.from ?? '' }
      const content = toContent({ ...mail, from: sender })
      await publish({ workspace_id, actor }, template.name, content)
      const changes = withoutAbsent({ name: name || undefined, audience, from: sender.name })
      const read = decode(api.broadcasts.update.body, changes) as Body<typeof api.broadcasts.update>
      await ofBroadcast(template.name, () =>
        broadcasts.update(keyOf(identity), before.id, read, actor),
      )
      return { object: 'broadcast', id: before.id }
    },
    async send({ identity, viewer, params, body, actor }) {
      const { id, template, ...found } = await find(viewer, params.id)
      assertDraft(found)
      const scheduled_at =
        body.scheduled_at === undefined ? null : readTime(body.scheduled_at, now())
      await ofBroadcast(template.name, () =>
        broadcasts.update(keyOf(identity), id, { scheduled_at, draft: false }, actor),
      )
      return { object: 'broadcast', id }
    },
    async cancel({ identity, viewer, params, actor }) {
      const found = await find(viewer, params.id)
      const { id, status, started_at } = found
      if (status === 'draft' || status === 'finished' || status === 'canceled') {
        throw refusal(found, 'canceled')
      }
      if (started_at) await broadcasts.cancel(viewer, id, actor)
      else {
        const draft = { scheduled_at: null, draft: true }
        await broadcasts.update(keyOf(identity), id, draft, actor)
      }
      return { object: 'broadcast', id }
    },
    async duplicate({ params, ...caller }) {
      const found = await find(caller.viewer, params.id)
      const content = await contentOf(caller.workspace_id, found)
      const { name, audience, from } = found
      const id = await store(caller, content, { name, audience, from, draft: true })
      return { object: 'broadcast', id }
    },
    async remove({ workspace_id, viewer, params, actor }) {
      const found = await find(viewer, params.id)
      if (found.started_at) throw refusal(found, 'removed')
      await broadcasts.cancel(viewer, found.id, actor)
      await templates.delete(workspace_id, found.template.name, actor)
      return { object: 'broadcast', id: found.id, deleted: true }
    },
  }
}

/** The end of a refusal with what callers of this door cannot do: its broadcasts have no headers. */
const OWN_HEADERS = ', or give the template '

/** Runs `work`. Its refusals name the broadcast in place of its template, which callers do not know. */
async function ofBroadcast<T>(template: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof SvcError) || error.code !== 'validation_error') throw error
    const path = error.details?.[0]?.path ?? ''
    const [text = ''] = error.message
      .replace(`Template ${template}`, 'The broadcast')
      .replace(`${template}: `, '')
      .split(OWN_HEADERS, 1)
    throw invalid(path.startsWith('template') ? 'template' : path, fromPlaceholders(text))
  }
}

/** Whether the door made it, and did not remove it: a broadcast that was canceled before it began. */
function isOwn({ channel, template, status, started_at }: Broadcast): boolean {
  const isRemoved = status === 'canceled' && started_at === null
  return channel === 'email' && BROADCAST_TEMPLATE.test(template.name) && !isRemoved
}

function assertDraft(found: Pick<Broadcast, 'status'>): void {
  if (found.status !== 'draft') throw refusal(found, 'changed or sent')
}

function refusal({ status }: Pick<Broadcast, 'status'>, wanted: string): SvcError {
  const is = status === 'draft' ? 'a draft' : status
  return new SvcError('forbidden', `The broadcast is ${is}: it cannot be ${wanted}.`)
}

function missing(field: string): SvcError {
  return invalid(field, `Missing required field: ${field}`)
}

function audienceOf({
  segment_id,
  audience_id,
}: Pick<Fields, 'segment_id' | 'audience_id'>): { tags: string[] } | undefined {
  const id = segment_id ?? audience_id
  return id === undefined ? undefined : { tags: [id] }
}

function summaryOf(found: Broadcast) {
  const { id, name, status, audience, created_at, scheduled_at, finished_at } = found
  const [tag = null] = audience.tags ?? []
  return {
    ...{ id, name: name ?? '', audience_id: tag, segment_id: tag },
    status: statusOf(found),
    created_at: created_at.toISOString(),
    scheduled_at: scheduled_at?.toISOString() ?? null,
    sent_at: (status === 'finished' && finished_at?.toISOString()) || null,
  }
}

function statusOf({ status, scheduled_at }: Broadcast): string {
  if (status === 'finished') return 'sent'
  if (status === 'scheduled' && scheduled_at) return 'scheduled'
  return status === 'draft' || status === 'canceled' ? status : 'queued'
}

function presentOf<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], null> } {
  const entries = Object.entries(values).filter(([, value]) => value != null)
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], null> }
}
