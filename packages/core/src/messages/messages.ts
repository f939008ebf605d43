import { setImmediate as turn } from 'node:timers/promises'
import type { KeyIdentity } from '../api-keys/api-keys.ts'
import { seen, type Viewer, viewOf } from '../api-keys/viewer.ts'
import { type Actor, SERVICE } from '../audit/entry.ts'
import type { Body, BodyIn, Data, Form, Query, QueryIn } from '../contract/endpoints/endpoint.ts'
import { pageOf, type Slice, sliceOf, withNext } from '../contract/endpoints/paging.ts'
import { type ErrorDetail, invalid, SvcError } from '../contract/errors.ts'
import { type Units, withUnit } from '../contract/fields/units.ts'
import { LIMITS } from '../contract/limits.ts'
import type { BulkRequest, TemplateBulkRequest } from '../contract/resources/bulk-request.ts'
import {
  messages as endpoints,
  type Message,
  type messageExport,
  type messageSearch,
} from '../contract/resources/messages.ts'
import { sentJson } from '../contract/resources/plain-send.ts'
import type { SendRequest, TemplateRequest } from '../contract/resources/send-request.ts'
import { priceForSeveral } from '../prices/price.ts'
import type { StatusCallbackRequest } from '../rows/messages.ts'
import type { MessageRow } from '../rows/rows.ts'
import { SUPPRESSED_TEXT } from '../rules/recipients.ts'
import type { Accepted } from '../runtime/tracing.ts'
import {
  bulkOf,
  CATEGORY_DEFAULT,
  filledRequest,
  sourceOf,
  type TemplateSource,
  templateOf,
} from '../templates/use-template.ts'
import {
  acceptOne,
  afterQuiet,
  debitFor,
  faultOf,
  type IdempotentResult,
  idempotencyRecord,
  newMessage,
  recipientsOfOne,
  scheduleOf,
  severalFault,
  spendingOf,
  storedResponse,
  watchAccepts,
} from './acceptance.ts'
import { type Breakdown, breakdownOf } from './breakdown.ts'
import { type Bulks, createBulks } from './bulk.ts'
import type { BulkParts } from './bulk-accept.ts'
import { recipientsOf } from './bulk-recipients.ts'
import { eraseMessage, redactMessage } from './erase-message.ts'
import { estimateOf, recipientsOfSend } from './estimate.ts'

import {
  exportMessages,
  type FoundMessages,
  recentFailures,
  type ShortMessage,
  searchMessages,
  shown,
  shownShort,
  whole,
} from './search.ts'
import {
  acceptWithFiles,
  fileRows,
  hasFiles,
  readFiles,
  storeFiles,
  withFiles,
} from './stored-files.ts'
import { testUseOf } from './test-usage.ts'
import { type HistoryPoint, historyOf, type TimelineEntry, timelineOf } from './timeline.ts'

/** An accepted message, as the answer to a send has it. */
export type Sent = Data<typeof endpoints.send>

/** Options for requests that a door made from the form of another vendor. */
export interface DoorOptions {
  /**
   * What a repeated request with the same `idempotency_key` is compared by, if the same text means another time later;
   * default: the request and `status_callback`.
   */
  compared?: unknown
  /** Where the statuses of the message are reported, in Twilio's form and signed with the API key. */
  status_callback?: StatusCallbackRequest | undefined
  /** The highest price, in micro-credits. A message that costs more is refused, with the path `credits_max`. */
  credits_max?: Units | undefined
}

/** Options of a send. */
export interface SendOptions {
  idempotency_key?: string | undefined
}

/** Options of a send; the doors of other vendors, which pass decoded requests, have more. */
export type SendOptionsIn<F extends Form> = F extends 'decoded'
  ? SendOptions & DoorOptions
  : SendOptions

/** The messages of a workspace. A viewer with a test key sees the test messages only. */
export interface Messages<F extends Form = 'given'> {
  /**
   * Accepts one message. When the promise resolves, the message and its debit are stored, and the message will become
   * `sent`, `delivered` or `failed`.
   * @throws SvcError `insufficient_credits`, `forbidden`, `rate_limit_exceeded` or `validation_error`; nothing is stored
   * then.
   */
  send(
    identity: KeyIdentity,
    request: BodyIn<typeof endpoints.send, F>,
    options?: SendOptionsIn<F>,
  ): Promise<IdempotentResult<Sent>>
  /** Does the same as `send`, and returns the record of the message. */
  sendForRecord(
    identity: KeyIdentity,
    request: BodyIn<typeof endpoints.send, F>,
    options?: SendOptionsIn<F>,
  ): Promise<{ message: Message; replayed: boolean }>
  /** One message with its content. @throws SvcError `not_found`, also for a message that the viewer may not see. */
  get(viewer: Viewer, messageId: string): Promise<Message>
  /** The same as `get`, with the contents of the attachments in place of their sizes. */
  whole(viewer: Viewer, messageId: string): Promise<Message>
  /** Returns one page, newest first; `total` counts the messages of all pages. */
  list(
    viewer: Viewer,
    query: QueryIn<typeof endpoints.list, F>,
  ): Promise<{
    messages: Message[]
    total: number
    next_cursor: string | null
    next_after: string | null
  }>
  /**
   * The numbers of messages that were created in each of the last 30 days or 48 hours (UTC), oldest first. Test keys see test
   * messages, all other viewers live messages.
   */
  history(viewer: Viewer, unit: 'day' | 'hour'): Promise<HistoryPoint[]>
  /**
   * How the messages of the same periods ended: by channel all of them, and the newest ones by the reason of their failure and by
   * place, so that the cost does not grow with the history.
   */
  breakdown(viewer: Viewer, unit: 'day' | 'hour'): Promise<Breakdown>
  /**
   * Returns a page of the messages that a filter selects, newest first, without contents longer than
   * `LIMITS.list_content_length`. `search` is a part of the recipient, the sender, the provider's id, the metadata or the
   * content. One call examines at most `LIMITS.messages_examined` messages for it, and `next_after` continues with the others.
   */
  search(viewer: Viewer, query: QueryIn<{ query: typeof messageSearch }, F>): Promise<FoundMessages>
  /**
   * Returns the messages that a filter selects in pages, newest first, without those that are accepted meanwhile: at most `limit`,
   * after the message `after`. Contents longer than `LIMITS.list_content_length` are null. A page may be empty although more
   * follow: `search`, `sender`, `error_code`, `api_key_id` and `tag` examine messages.
   * @throws ExportBound after 5,000,000 examined messages that the filter does not select; its `after` continues.
   */
  export(
    viewer: Viewer,
    query: QueryIn<{ query: typeof messageExport }, F>,
  ): AsyncGenerator<ShortMessage[]>
  /** The failures of the last hour by their error, most frequent first. At most 5,000 of each channel are counted. */
  recentFailures(viewer: Viewer): Promise<{ error_code: string | null; count: number }[]>
  /** Returns the same as `list`, but contents longer than `LIMITS.list_content_length` are null. */
  listShort(
    viewer: Viewer,
    query: QueryIn<typeof endpoints.list, F>,
  ): Promise<{
    messages: ShortMessage[]
    total: number
    next_cursor: string | null
    next_after: string | null
  }>
  /** The history of a message, oldest first. @throws SvcError in the same cases as `get`. */
  timeline(viewer: Viewer, messageId: string): Promise<TimelineEntry[]>
  /**
   * Fails, with the code `canceled`, a message that is not being sent yet, and returns its credits.
   * @throws SvcError in the same cases as `get`; `validation_error` if it is too late.
   */
  cancel(viewer: Viewer, messageId: string): Promise<Message>
  /**
   * Gives a message that is not being sent yet a new time, at most 35 days ahead; a past time means now. The expiry of
   * the message keeps its distance from that time.
   * @throws SvcError in the same cases as `get`; `validation_error` if it is too late, or for a call.
   */
  reschedule(
    viewer: Viewer,
    messageId: string,
    request: BodyIn<typeof endpoints.reschedule, F>,
  ): Promise<Message>
  /**
   * Removes recipient, content and metadata of a sent message, or the whole of a received one, and rewrites its events. A
   * repeated call changes nothing more.
   * @throws SvcError in the same cases as `get`; `validation_error` while the message is queued.
   */
  erase(viewer: Viewer, messageId: string, actor?: Actor): Promise<void>
  /** Removes the content of a sent or a received message. @throws SvcError in the same cases as `erase`. */
  redact(viewer: Viewer, messageId: string, actor?: Actor): Promise<void>
  /**
   * The price of a send or a bulk, and the recipients that would get no message. Stores nothing.
   * @throws SvcError `validation_error`.
   */
  estimate(
    identity: KeyIdentity,
    request: BodyIn<typeof endpoints.estimate, F>,
  ): Promise<Data<typeof endpoints.estimate>>
  /** Many messages of one request. */
  readonly bulks: Bulks<F>
}

export function createMessages(parts: BulkParts): Messages<'decoded'> {
  const { storage, runtime, quotas, priceOf, senders, sequences, attachments_max_bytes } = parts
  const watched = watchAccepts(runtime.telemetry, parts.tracing)

  async function byId(viewer: Viewer, messageId: string): Promise<MessageRow> {
    const view = viewOf(viewer)
    const row = seen(view, await storage.read.messages.byId(view.workspace_id, messageId))
    if (!row) throw new SvcError('not_found', 'Message not found')
    return row
  }

  /** The same from a stored template. A repeated request gets its stored response, whatever became of the template. */
  async function sendTemplate(
    identity: KeyIdentity,
    given: TemplateRequest,
    options: SendOptions & DoorOptions,
  ): Promise<IdempotentResult<Sent> & { row?: MessageRow }> {
    const { status_callback: callback } = options
    const { compared = callback === undefined ? given : { ...given, status_callback: callback } } =
      options
    const record = { route: ROUTE, request: compared }
    const known = await storedResponse(storage, identity, options.idempotency_key, record)
    if (known !== null) return replay(known)
    const source = await sourceOf(storage.read, identity.workspace_id, given)
    const request = filledRequest(given, source)
    return send(identity, request, { ...options, compared }, source)
  }

  async function send(
    identity: KeyIdentity,
    given: SendRequest,
    options: SendOptions & DoorOptions,
    source: TemplateSource | null = null,
  ): Promise<IdempotentResult<Sent> & { row?: MessageRow }> {
    const takesFiles = given.channel === 'email' && hasFiles(given.content)
    const request = takesFiles
      ? ({
          ...given,
          content: await readFiles(given.content, attachments_max_bytes),
        } as SendRequest)
      : given
    const { idempotency_key: key, status_callback: callback, credits_max } = options
    const {
      compared = callback === undefined ? request : { ...request, status_callback: callback },
    } = options
    const at = runtime.now()
    const { channel, content, metadata = {} } = request
    const recipients = recipientsOfOne(request)
    const [{ address: to }] = recipients
    const asked = scheduleOf(request, at)
    const price = priceForSeveral(priceOf(channel, content)(to), recipients.length)
    const checked = faultOf(parts, identity, request, recipients, source)
    const fault =
      (checked instanceof Promise ? await checked : checked) ??
      (credits_max === undefined ? null : priceFault(identity, price.credits, credits_max))
    if (fault !== null || sequences) {
      // A repeated request gets its stored response, even if a newer rule refuses the request, because it sends no new message.
      const known = await storedResponse(storage, identity, key, {
        route: ROUTE,
        request: compared,
      })
      if (known !== null) return replay(known)
    }
    if (fault !== null) throw invalid(fault.path, fault.message)
    const sender = await senders.of(identity.workspace_id, request)
    const status_callback =
      callback === undefined ? null : await parts.statusCallbacks(identity, callback)
    await sequences?.check(identity, channel, [to])
    const quiet = parts.quietHours.endFor(identity, {
      category: source?.category ?? CATEGORY_DEFAULT,
      channel,
      recipients: () => [to],
    })
    const endOfQuiet = quiet instanceof Promise ? await quiet : quiet
    const schedule = afterQuiet(asked, { endOfQuiet, recipient: to, at })
    const template = source?.used ?? null
    const several = recipients.length > 1 ? recipients : undefined
    const stored = takesFiles
      ? await storeFiles(parts, identity.workspace_id, content)
      : { content, files: [] }
    const [id, debit_id] = [runtime.id(), runtime.id()]
    const message = newMessage(
      identity,
      {
        channel,
        sender,
        recipient: to,
        recipients: several,
        content: stored.content,
        metadata,
        bulk_id: null,
        status_callback,
        template,
      },
      { price, schedule, id, at },
    )
    const data: Sent = {
      message_id: message.id,
      status: 'queued',
      credits_used: message.credits_used,
      created_at: at,
      ...(template !== null && { template }),
      ...(schedule.deferred_until !== null && { deferred_until: schedule.deferred_until }),
    }
    const reference = { type: 'message', id } as const
    const accepting = {
      workspace_id: identity.workspace_id,
      debit: debitFor([message], [price], { id: debit_id, reference }),
      messages: [message],
      files: takesFiles ? fileRows([message], () => stored.files) : undefined,
      bulk: null,
      rejections: [],
      spending: spendingOf(identity, at),
      test_use:
        identity.mode === 'live' ? null : await testUseOf(identity, [message], { quotas, at }),
      idempotency: idempotencyRecord(identity, key, {
        route: ROUTE,
        request: compared,
        response: () => sentJson(data),
      }),
    }
    const result =
      stored.files.length === 0
        ? await acceptOne(storage, accepting, at)
        : await acceptWithFiles(
            parts,
            identity.workspace_id,
            stored.files,
            () => acceptOne(storage, accepting, at),
            isAccepted,
          )
    if (result.outcome === 'replayed') return replay(result.response)
    if (result.outcome === 'suppressed') {
      const [first] = result.recipients
      throw invalid(
        recipients.find(({ address }) => address === first)?.path ?? 'to',
        SUPPRESSED_TEXT,
      )
    }
    return { data, replayed: false, row: message }
  }

  async function accept(
    identity: KeyIdentity,
    request: SendRequest | TemplateRequest,
    options: SendOptions & DoorOptions,
  ) {
    let row: MessageRow | undefined
    const accepting = async () => {
      const sent =
        'template' in request
          ? await sendTemplate(identity, request, options)
          : await send(identity, request, options)
      row = sent.row
      return sent
    }
    const { data, replayed } = await watched(request.channel, accepting, madeBy)
    return { data, replayed, row }
  }

  async function get(viewer: Viewer, messageId: string): Promise<Message> {
    return shown(await byId(viewer, messageId))
  }

  async function listShort(
    viewer: Viewer,
    query: Query<typeof endpoints.list>,
  ): ReturnType<Messages<'decoded'>['listShort']> {
    const { workspace_id: workspaceId, livemode } = viewOf(viewer)
    const filter = {
      livemode,
      channel: query.channel,
      status: query.status,
      from: query.startDate,
      until: query.endDate,
      bulk_id: query.bulk_id,
      recipient: query.recipient,
      sender: query.sender,
      template: query.template,
    }
    const { before } = query
    if (before && (query.page ?? query.after ?? query.cursor) !== undefined) {
      throw invalid('before', 'Give one of page, after, before and cursor')
    }
    const slice = sliceOf(query.cursor ? { limit: query.limit } : query)
    const page = { ...withNext(slice), content_length: LIMITS.list_content_length }
    const before_id = query.cursor ? readCursor(query.cursor) : query.after
    const [found, total] = await Promise.all([
      storage.read.messages.listShort(
        workspaceId,
        { ...filter, before_id, newer_than: before },
        page,
      ),
      storage.read.messages.count(workspaceId, filter),
    ])
    const { rows, next_after } = before
      ? pageBefore(found, slice)
      : pageOf(found, slice, ({ id }) => id)
    return {
      messages: rows.map(shownShort),
      total,
      next_cursor: next_after === null ? null : cursorAfter(next_after),
      next_after,
    }
  }

  async function estimateRequest(
    identity: KeyIdentity,
    request: ContentRequest,
    source: TemplateSource | null,
  ): Promise<Data<typeof endpoints.estimate>> {
    const { channel } = request
    const at = runtime.now()
    scheduleOf(request, at)
    const wrongSender = await senders.fault(identity, request, source !== null)
    if (wrongSender !== null) throw invalid(wrongSender.path, wrongSender.message)
    if (!('recipients' in request)) {
      const recipients = recipientsOfOne(request)
      const refusal = severalFault(parts, identity, request, recipients, source)
      if (refusal !== null) throw invalid(refusal.path, refusal.message)
      const found = recipientsOfSend(request, recipients, parts)
      return estimateOf(parts, identity, {
        channel,
        found,
        isStrict: true,
        isOneMessage: true,
        at,
      })
    }
    const found = await recipientsOf(parts, identity, request, source)
    const isStrict = request.validation === 'strict'
    return estimateOf(parts, identity, { channel, found, isStrict, at })
  }

  return {
    bulks: createBulks(parts),
    async send(identity, request, options = {}) {
      const { data, replayed } = await accept(identity, request, options)
      return { data, replayed }
    },
    async sendForRecord(identity, request, options = {}) {
      const { data, replayed, row } = await accept(identity, request, options)
      const message = row ? shown(row) : await get(identity, data.message_id)
      return { message, replayed }
    },
    get,
    async whole(viewer, messageId) {
      const row = await byId(viewer, messageId)
      return whole({ ...row, content: await withFiles(storage.read, row) })
    },
    async list(viewer, query) {
      const { messages: found, ...page } = await listShort(viewer, query)
      const messages: Message[] = []
      for (const { content, ...message } of found) {
        if (content === null) await turn()
        messages.push(content === null ? await get(viewer, message.id) : { ...message, content })
      }
      return { messages, ...page }
    },
    listShort,
    search: (viewer, query) => searchMessages({ storage, runtime }, viewer, query),
    export: (viewer, query) => exportMessages({ storage, runtime }, viewer, query),
    recentFailures: (viewer) => recentFailures({ storage, runtime }, viewer),
    breakdown: (viewer, unit) => breakdownOf({ storage, runtime }, viewer, unit),
    history: (viewer, unit) => historyOf(storage, viewer, { unit, now: runtime.now() }),
    async timeline(viewer, messageId) {
      return timelineOf({ read: storage.read, now: runtime.now() }, await byId(viewer, messageId))
    },
    async cancel(viewer, messageId) {
      const { workspace_id } = await byId(viewer, messageId)
      const request = { workspace_id, message_ids: [messageId], at: runtime.now() }
      const [outcome] = await storage.hot.cancel(request)
      const message = await byId(workspace_id, messageId)
      if (outcome !== 'canceled') throw tooLate(message, 'canceled')
      return shown(message)
    },
    async reschedule(viewer, message_id, { scheduled_at }) {
      const row = await byId(viewer, message_id)
      const { workspace_id, channel, recipient, livemode } = row
      const at = runtime.now()
      const asked = scheduleOf({ scheduled_at }, at)
      const { category } = await templateOf(storage.read, row)
      const endOfQuiet = await parts.quietHours.endFor(
        { workspace_id, mode: livemode ? 'live' : 'test' },
        { category, channel, recipients: () => [recipient] },
      )
      const { deferred_until } = afterQuiet(asked, { endOfQuiet, recipient, at })
      const request = {
        ...{ workspace_id, message_id, deferred_until, at },
        scheduled_at: deferred_until ?? scheduled_at,
      }
      const [outcome] = await storage.hot.reschedule([request])
      const message = await byId(workspace_id, message_id)
      if (outcome === 'is_call') throw invalid('id', 'A call cannot be rescheduled')
      if (outcome !== 'rescheduled') throw tooLate(message, 'rescheduled')
      return shown(message)
    },
    erase: (viewer, messageId, actor = SERVICE) =>
      eraseMessage({ storage, runtime }, viewer, messageId, actor),
    redact: (viewer, messageId, actor = SERVICE) =>
      redactMessage({ storage, runtime }, viewer, messageId, actor),
    async estimate(identity, given) {
      const source =
        'template' in given ? await sourceOf(storage.read, identity.workspace_id, given) : null
      const request = source === null ? (given as ContentRequest) : requestOf(given, source)
      const estimated = await estimateRequest(identity, request, source)
      return source === null ? estimated : { ...estimated, template: source.used }
    },
  }
}

/** A request with its content. */
type ContentRequest = SendRequest | BulkRequest

function requestOf(given: Body<typeof endpoints.estimate>, source: TemplateSource): ContentRequest {
  return 'recipients' in given
    ? bulkOf(given as TemplateBulkRequest, source)
    : filledRequest(given as TemplateRequest, source)
}

function isAccepted({ outcome }: { outcome: string }): boolean {
  return outcome === 'accepted'
}

/** The fault if a live message costs more than the request allows. Test messages cost nothing. */
function priceFault({ mode }: KeyIdentity, credits: Units, credits_max: Units): ErrorDetail | null {
  if (mode === 'test' || credits <= credits_max) return null
  const message = `The message costs ${withUnit(credits)}, more than the highest price of ${withUnit(credits_max)}`
  return { path: 'credits_max', message }
}

function madeBy({ message_id }: Sent): Accepted {
  return { message_ids: [message_id], bulk_id: null }
}

/** The route of the idempotency records. */
const ROUTE = 'messages.send'

function replay(response: string): IdempotentResult<Sent> {
  return { data: endpoints.send.data.decode(JSON.parse(response)), replayed: true }
}

function tooLate({ status }: MessageRow, change: 'canceled' | 'rescheduled'): SvcError {
  const why = status === 'queued' ? 'it is being sent now' : `it is ${status}`
  return invalid('id', `Message cannot be ${change}: ${why}`)
}

/** The page that precedes a message. A page always follows it, with that message as its first item. */
function pageBefore<Row extends { id: string }>(
  found: readonly Row[],
  { limit }: Pick<Slice, 'limit'>,
): { rows: Row[]; next_after: string | null } {
  const rows = found.slice(-limit)
  return { rows, next_after: rows.at(-1)?.id ?? null }
}

function cursorAfter(messageId: string): string {
  return Buffer.from(messageId).toString('base64url')
}

function readCursor(cursor: string): string {
  const id = Buffer.from(cursor, 'base64url').toString('latin1')
  if (!/^[0-9a-f-]{36}$/.test(id)) throw invalid('cursor', 'Invalid cursor')
  return id
}
