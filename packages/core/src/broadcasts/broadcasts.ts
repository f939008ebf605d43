import { type KeyIdentity, requireScope } from '../api-keys/api-keys.ts'
import { assertCredentialHolds } from '../api-keys/credential.ts'
import { type Viewer, viewOf } from '../api-keys/viewer.ts'
import { type Actor, auditRow, SERVICE } from '../audit/entry.ts'
import { createOrder } from '../contacts/contacts.ts'
import { contactsOf } from '../contacts/read-contacts.ts'
import type { BodyIn, Data, Form } from '../contract/endpoints/endpoint.ts'
import { pageOf, type Slice, withNext } from '../contract/endpoints/paging.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import { emailKey } from '../contract/fields/email-address.ts'
import { units } from '../contract/fields/units.ts'
import { LIMITS } from '../contract/limits.ts'
import type { AuditAction } from '../contract/resources/audit.ts'
import {
  type Broadcast,
  type BroadcastPreview,
  type BroadcastResults,
  type BroadcastStatus,
  broadcastFaults,
  type ChangedBroadcast,
  broadcasts as endpoints,
  type NewBroadcast,
  type RecipientsQuery,
} from '../contract/resources/broadcasts.ts'
import {
  type IdempotentResult,
  idempotencyRecord,
  scheduleOf,
  storedResponse,
} from '../messages/acceptance.ts'
import type { BulkParts } from '../messages/bulk-accept.ts'
import type { BroadcastRow } from '../rows/rows.ts'
import { suppressedAddress } from '../rules/recipients.ts'
import type { Writes } from '../storage/ports/storage.ts'
import type { BroadcastChange, SuppressedSince } from '../storage/ports/stores.ts'
import { type BroadcastTime, beginOf, departuresOf } from './departures.ts'
import { type MailingParts, openMailing, sentChannelOf } from './drafts.ts'
import { previewOf } from './preview.ts'
import { announceBroadcast } from './run.ts'

/** Broadcasts of workspaces. Contacts are live data, so that a test key has none. */
export interface Broadcasts<F extends Form = 'given'> {
  /**
   * Creates a broadcast. It begins at its time, or within a second, and sends each contact one message.
   * @throws SvcError `validation_error` for a template, a sender or a time that a send would refuse, or too many open
   *   broadcasts; `forbidden` without the scope `manage_contacts`.
   */
  create(
    identity: KeyIdentity,
    request: BodyIn<typeof endpoints.create, F>,
    options?: { idempotency_key?: string | undefined },
    actor?: Actor,
  ): Promise<IdempotentResult<Data<typeof endpoints.create>>>
  /**
   * Returns what the broadcast would do now. Reads the whole audience: 500,000 contacts take some seconds.
   * @throws SvcError as `create` does; `rate_limit_exceeded` while previews of the workspace wait.
   */
  preview(
    identity: KeyIdentity,
    request: BodyIn<typeof endpoints.preview, F>,
  ): Promise<BroadcastPreview>
  /** Returns a page, newest first, and the total number. */
  list(
    viewer: Viewer,
    page: Slice & { status?: BroadcastStatus | undefined },
  ): Promise<{ broadcasts: Broadcast[]; total: number; next_after: string | null }>
  /** One broadcast and what happened to its messages. @throws SvcError `not_found` */
  get(viewer: Viewer, id: string): Promise<{ broadcast: Broadcast; results: BroadcastResults }>
  /**
   * The names of the templates that are not deleted and that only finished or canceled broadcasts name, the oldest first. Without them
   * these broadcasts stay as they are: the versions of a deleted template stay readable while there is room.
   */
  endedTemplates(workspaceId: string): Promise<string[]>
  /**
   * The recipients of a broadcast with this event, by the ids of their messages, newest first. `sent` and `delivered` include those
   * with a later event; `complained` and `unsubscribed` are since the start, by any message. Contacts that were suppressed before have no
   * message. @throws SvcError `not_found`
   */
  recipients(
    viewer: Viewer,
    id: string,
    query: RecipientsQuery,
  ): Promise<{ recipients: BroadcastRecipient[]; has_more: boolean }>
  /**
   * Changes a broadcast that has not begun: absent fields stay, null removes a value. It is sent with this credential.
   * @throws SvcError `not_found`; `validation_error` if it has begun, and in the same cases as `create`.
   */
  update(
    identity: KeyIdentity,
    id: string,
    request: BodyIn<typeof endpoints.update, F>,
    actor?: Actor,
  ): Promise<Broadcast>
  /**
   * Pauses it, and holds its messages that no worker has begun to send, also after it is finished or paused itself.
   * @throws SvcError `not_found`; `validation_error` if a request paused or canceled it, or if it is finished and no message waits.
   */
  pause(viewer: Viewer, id: string, actor?: Actor): Promise<Broadcast>
  /**
   * Continues after the last contact that had its turn, or begins a draft, with this credential. Held messages go at their time, or
   * at once if it is past; quiet hours defer them.
   * @throws SvcError `not_found`; `validation_error` in other states; `forbidden` without the scope `manage_contacts`.
   */
  resume(identity: KeyIdentity, id: string, actor?: Actor): Promise<Broadcast>
  /**
   * Ends it, also after it is finished. Its queued messages are canceled and refunded afterwards.
   * @throws SvcError `not_found`; `validation_error` if it is canceled.
   */
  cancel(viewer: Viewer, id: string, actor?: Actor): Promise<Broadcast>
}

/** A recipient of a broadcast. */
export interface BroadcastRecipient {
  message_id: string
  address: string
  /** The contact that has the address now. */
  contact_id: string | null
  /** Of a bounce: whether it suppressed the address. */
  is_permanent: boolean
}

/** The previews of a workspace that wait while one runs. */
const WAITING_MAX = 2

const ROUTE = 'broadcasts.create'
const NOT_FOUND = 'Broadcast not found'

/** The reasons that a result lists. */
const FAILURES = 20
const CANCELED = 'canceled'

export function createBroadcasts(
  parts: BulkParts & MailingParts & { onQueued: () => void },
): Broadcasts<'decoded'> {
  const { storage, runtime } = parts
  const { read } = storage
  const inOrder = createOrder(WAITING_MAX)

  /** @throws SvcError as `create` does. */
  async function open(identity: KeyIdentity, request: NewBroadcast, until: string) {
    requireScope(identity, 'manage_contacts')
    const { channel, audience, template, from } = request
    const { workspace_id } = identity
    return openMailing(parts, identity, { workspace_id, channel, audience, until, template, from })
  }

  async function find(viewer: Viewer, id: string): Promise<BroadcastRow> {
    const { workspace_id, livemode } = viewOf(viewer)
    const row = livemode === false ? null : await read.broadcasts.byId(workspace_id, id)
    if (!row) throw new SvcError('not_found', NOT_FOUND)
    return row
  }

  /** An address in the spelling of its contact, which is that of its messages. */
  async function storedAddress(workspaceId: string, address: string): Promise<string> {
    if (!address.includes('@')) return address
    const keys = { phones: [], email_keys: [emailKey(address)], external_ids: [] }
    const [contact] = await read.contacts.holding(workspaceId, keys)
    return contact?.email ?? address
  }

  /** Changes a broadcast with an audit entry. `changeOf` throws if the state does not allow it. */
  async function change(
    row: BroadcastRow,
    actor: Actor,
    action: AuditAction,
    changeOf: (row: BroadcastRow, at: Date) => BroadcastChange,
  ): Promise<Broadcast> {
    const { workspace_id, id } = row
    const [changed, has_deliveries] = await storage.write(async (stores) => {
      await assertCredentialHolds(stores, workspace_id, actor, 'send')
      const before = await stores.broadcasts.lock(workspace_id, id)
      if (!before) throw new SvcError('not_found', NOT_FOUND)
      const at = runtime.now()
      const after = { ...before, ...changeOf(before, at), updated_at: at }
      const { workspace_id: _, id: __, ...columns } = after
      await stores.broadcasts.change(workspace_id, id, columns)
      await note(stores, actor, after, action)
      const is_paused = after.status === 'paused'
      return [after, is_paused && (await announceBroadcast(stores, runtime, after))] as const
    })
    if (has_deliveries) parts.onQueued()
    return recordOf(changed)
  }

  async function note(
    { audit }: Writes,
    actor: Actor,
    { workspace_id, id, template }: BroadcastRow,
    action: AuditAction,
  ): Promise<void> {
    const target = { type: 'broadcast', id }
    await audit.record(
      auditRow(runtime, actor, { workspace_id, action, target, details: { template } }),
    )
  }

  return {
    async create(identity, request, { idempotency_key: key } = {}, actor = SERVICE) {
      const { workspace_id } = identity
      const idempotency = { route: ROUTE, request }
      const replay = (response: string) => ({
        data: endpoints.create.data.decode(JSON.parse(response)),
        replayed: true,
      })
      const known = await storedResponse(storage, identity, key, idempotency)
      if (known !== null) return replay(known)
      await open(identity, request, '')
      const at = runtime.now()
      const row = newRow(identity, request, { id: runtime.id(), at })
      const data = { broadcast: recordOf(row) }
      const answer = idempotencyRecord(identity, key, {
        ...idempotency,
        response: () => JSON.stringify(endpoints.create.data.encode(data)),
      })
      const is_new = await storage.write(async (stores) => {
        await assertCredentialHolds(stores, workspace_id, actor, 'send')
        if (answer && !(await stores.idempotencyRecords.keepFirst(workspace_id, answer, at))) {
          return false
        }
        if ((await stores.broadcasts.countOpen(workspace_id)) >= LIMITS.broadcasts_open) {
          throw tooMany()
        }
        await stores.broadcasts.insert(row)
        await note(stores, actor, row, 'broadcast.created')
        return true
      })
      if (is_new) return { data, replayed: false }
      return replay((await storedResponse(storage, identity, key, idempotency)) as string)
    },
    preview: (identity, request) =>
      inOrder(identity.workspace_id, async () => {
        const until = await read.contacts.newestId(identity.workspace_id)
        const mailing = await open(identity, request, until)
        return previewOf(parts, identity, mailing, timeOf(request, runtime.now()))
      }),
    async list(viewer, { status, ...slice }) {
      const { workspace_id, livemode } = viewOf(viewer)
      if (livemode === false) return { broadcasts: [], total: 0, next_after: null }
      const [found, total] = await Promise.all([
        read.broadcasts.list(workspace_id, status, withNext(slice)),
        read.broadcasts.count(workspace_id, status),
      ])
      const { rows, next_after } = pageOf(found, slice, ({ id }) => id)
      return { broadcasts: rows.map(recordOf), total, next_after }
    },
    async get(viewer, id) {
      const row = await find(viewer, id)
      const { workspace_id } = row
      const [totals, unsubscribed] = await Promise.all([
        read.broadcasts.totals(workspace_id, id),
        read.broadcasts.unsubscribed(workspace_id, row),
      ])
      const results = { queued: 0, sent: 0, delivered: 0, read: 0, failed: 0 }
      for (const { status, count } of totals) results[status] += count
      const refunded = totals.reduce((sum, one) => sum + one.refunded, 0)
      const failed = totals.filter(({ status }) => status === 'failed')
      const canceled = failed.find(({ error_code }) => error_code === CANCELED)?.count ?? 0
      const failures = failed
        .filter(({ error_code }) => error_code !== CANCELED)
        .slice(0, FAILURES)
        .map(({ error_code, count }) => ({ error_code, count }))
      return {
        broadcast: recordOf(row),
        results: {
          ...results,
          canceled,
          failures,
          unsubscribed,
          credits_refunded: units(refunded),
        },
      }
    },
    endedTemplates: (workspaceId) => read.broadcasts.endedTemplates(workspaceId),
    async recipients(viewer, id, { event, address, is_permanent, limit, after, before }) {
      const { workspace_id, channel, started_at } = await find(viewer, id)
      if (!started_at) return { recipients: [], has_more: false }
      const suppressed = (reason: SuppressedSince['reason'], is = true) => ({
        suppressed: { channel, reason, since: started_at, is },
      })
      const filters = {
        sent: { reached: 'sent' },
        delivered: { reached: 'delivered' },
        bounced: {
          error_code: 'bounced',
          ...(is_permanent !== undefined && suppressed('bounce', is_permanent)),
        },
        complained: suppressed('complaint'),
        unsubscribed: suppressed('opt_out'),
      } as const
      const filter = {
        ...filters[event],
        broadcast_id: id,
        recipient: address && (await storedAddress(workspace_id, address)),
        before_id: after,
        newer_than: before,
      }
      const page = { limit: limit + 1, offset: 0, content_length: 0 }
      const found = await read.messages.listShort(workspace_id, filter, page)
      const rows = before === undefined ? found.slice(0, limit) : found.slice(-limit)
      const addresses = rows.map(({ recipient }) => recipient)
      const keyOf = (recipient: string) => suppressedAddress({ channel, recipient })
      const [contactOf, suppressions] = await Promise.all([
        contactsOf(read.contacts, workspace_id, addresses),
        event === 'bounced' ? read.suppressions.of(workspace_id, addresses.map(keyOf)) : [],
      ])
      const bounced = new Set(
        suppressions
          .filter((one) => one.channel === channel && one.reason === 'bounce')
          .filter(({ created_at }) => created_at > started_at)
          .map((one) => one.address),
      )
      const recipients = rows.map(({ id: message_id, recipient }) => ({
        message_id,
        address: recipient,
        contact_id: contactOf(recipient)?.id ?? null,
        is_permanent: bounced.has(keyOf(recipient)),
      }))
      return { recipients, has_more: found.length > limit }
    },
    async update(identity, id, request, actor = SERVICE) {
      const row = await find(identity, id)
      await open(identity, changedRequest(row, request), '')
      return change(row, actor, 'broadcast.updated', (before, at) => {
        if (before.started_at) throw invalid('id', 'The broadcast has begun: it cannot be changed')
        if (before.status === 'canceled') throw not(before.status, 'changed')
        const {
          workspace_id: _,
          id: __,
          created_at: ___,
          ...changed
        } = newRow(identity, changedRequest(before, request), { id, at })
        // A pause lasts until `resume`, unless the request says what follows.
        const isPaused = before.status === 'paused' && request.draft === undefined
        const { status, pause_reason, pause_message, next_at } = before
        return { ...changed, ...(isPaused && { status, pause_reason, pause_message, next_at }) }
      })
    },
    async pause(viewer, id, actor = SERVICE) {
      const row = await find(viewer, id)
      const has_queued =
        row.status === 'finished' && (await read.broadcasts.hasQueued(row.workspace_id, id))
      return change(row, actor, 'broadcast.paused', ({ status, pause_reason }) => {
        const isOpen = status === 'scheduled' || status === 'running'
        if (!isOpen && !(status === 'finished' && has_queued) && !isPausedByItself(pause_reason)) {
          throw not(status, 'paused')
        }
        return {
          status: 'paused',
          pause_reason: 'requested',
          pause_message: 'A request paused it.',
          next_at: null,
        }
      })
    },
    async resume(identity, id, actor = SERVICE) {
      const row = await find(identity, id)
      requireScope(identity, 'manage_contacts')
      return change(row, actor, 'broadcast.resumed', (before, at) => {
        const { status, started_at, finished_at } = before
        if (status !== 'draft' && status !== 'paused') throw not(status, 'resumed')
        const begins_at = firstOf(before, at)
        const begun = finished_at ? 'finished' : 'running'
        return {
          api_key_id: identity.api_key_id,
          status: started_at ? begun : 'scheduled',
          pause_reason: null,
          pause_message: null,
          // The next step frees messages that the pause holds.
          next_at: started_at ? at : begins_at,
        }
      })
    },
    async cancel(viewer, id, actor = SERVICE) {
      return change(await find(viewer, id), actor, 'broadcast.canceled', (row, at) => {
        if (row.status === 'canceled') throw not(row.status, 'canceled')
        return {
          status: 'canceled',
          pause_reason: null,
          pause_message: null,
          finished_at: at,
          // The next step cancels what is queued.
          next_at: row.last_bulk_id === null ? null : at,
        }
      })
    },
  }
}

/** Whether the broadcast paused itself for want of something, so that its accepted messages are still sent. */
function isPausedByItself(reason: BroadcastRow['pause_reason']): boolean {
  return reason !== null && reason !== 'requested' && reason !== 'restored'
}

function newRow(
  { workspace_id, api_key_id }: KeyIdentity,
  request: NewBroadcast,
  { id, at }: { id: string; at: Date },
): BroadcastRow {
  const { name, channel, from, template, audience, rate, draft } = request
  const time = timeOf(request, at)
  return {
    ...{ workspace_id, id, api_key_id, channel, audience },
    name: name ?? null,
    sender: from ?? null,
    template: template.name,
    template_version: template.version ?? null,
    template_locale: template.locale ?? null,
    variables: template.variables ?? {},
    rate: rate ?? null,
    status: draft ? 'draft' : 'scheduled',
    pause_reason: null,
    pause_message: null,
    ...time,
    departures: time.time_zone && [],
    next_at: draft ? null : firstOf(time, at),
    cursor: '',
    until_id: null,
    last_bulk_id: null,
    canceled_through: '',
    audience_size: null,
    ...{ contacts: 0, accepted: 0, suppressed: 0, no_address: 0, rejected: 0 },
    credits_used: units(0),
    created_at: at,
    updated_at: at,
    started_at: null,
    finished_at: null,
  }
}

/** The request that would make the broadcast as it is after a change. @throws SvcError `validation_error` */
function changedRequest(row: BroadcastRow, change: ChangedBroadcast): NewBroadcast {
  const { template: name, template_version: version, template_locale: locale } = row
  const after = <T>(given: T | undefined, stored: T): T => (given === undefined ? stored : given)
  const request: NewBroadcast = {
    channel: sentChannelOf(row),
    name: after(change.name, row.name) ?? undefined,
    from: after(change.from, row.sender) ?? undefined,
    scheduled_at: after(change.scheduled_at, row.scheduled_at) ?? undefined,
    time_zone: after(change.time_zone, row.time_zone) ?? undefined,
    rate: after(change.rate, row.rate) ?? undefined,
    audience: change.audience ?? row.audience,
    template: change.template ?? {
      ...{ name, version: version ?? undefined, locale: locale ?? undefined },
      variables: row.variables,
    },
    draft: change.draft ?? row.status === 'draft',
  }
  const [fault] = broadcastFaults(request)
  if (fault) throw invalid(fault.path, fault.message)
  return request
}

/** @throws SvcError `validation_error` for a time more than 35 days ahead. */
function timeOf(request: NewBroadcast, at: Date): BroadcastTime {
  const { scheduled_at } = scheduleOf(request, at)
  const { time_zone = null } = request
  // A time that is past in UTC lies ahead in some zones.
  return { time_zone, scheduled_at: time_zone ? (request.scheduled_at ?? null) : scheduled_at }
}

/** When a broadcast begins that may begin from `at` on. */
function firstOf(time: BroadcastTime, at: Date): Date {
  const begin = beginOf(time)
  return begin && begin > at ? begin : at
}

function recordOf(row: BroadcastRow): Broadcast {
  const { id, name, channel, status, pause_reason, pause_message, audience, rate } = row
  const { audience_size, contacts, accepted, suppressed, no_address, rejected } = row
  const { scheduled_at, time_zone, credits_used, created_at, updated_at, started_at, finished_at } =
    row
  return {
    ...{ id, name, channel, status },
    pause: pause_reason && { reason: pause_reason, message: pause_message ?? '' },
    template: {
      name: row.template,
      version: row.template_version,
      locale: row.template_locale,
      variables: row.variables,
    },
    from: row.sender,
    ...{ audience, rate, scheduled_at, time_zone },
    departures: departuresOf(row),
    counts: { audience: audience_size, contacts, accepted, suppressed, no_address, rejected },
    ...{ credits_used, created_at, updated_at, started_at, finished_at },
  }
}

function not(status: BroadcastStatus, wanted: string): SvcError {
  const is = status === 'draft' ? 'a draft' : status
  const none = status === 'finished' && wanted === 'paused' ? ', and no message waits' : ''
  return invalid('id', `The broadcast is ${is}${none}: it cannot be ${wanted}`)
}

function tooMany(): SvcError {
  return invalid(
    '',
    `A workspace may have at most ${LIMITS.broadcasts_open} broadcasts that are not finished. Cancel one`,
  )
}
