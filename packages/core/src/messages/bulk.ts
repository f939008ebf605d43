import type { KeyIdentity } from '../api-keys/api-keys.ts'
import { seen, type Viewer, viewOf } from '../api-keys/viewer.ts'
import type { BodyIn, Form } from '../contract/endpoints/endpoint.ts'
import { pageOf, type Slice, withNext } from '../contract/endpoints/paging.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import { LIMITS } from '../contract/limits.ts'
import type { Bulk, BulkRejection, bulks as endpoints } from '../contract/resources/bulk.ts'
import type { BulkRequest, TemplateBulkRequest } from '../contract/resources/bulk-request.ts'
import type { Channel, Content } from '../contract/resources/content.ts'
import type { EmailBulk, emailBulk } from '../contract/resources/email-bulk.ts'

import { priceForSeveral } from '../prices/price.ts'
import type { BulkRejectionRow, BulkRow, MessageRow } from '../rows/rows.ts'
import type { Accepted } from '../runtime/tracing.ts'
import type { FileOfMessage } from '../storage/ports/stores.ts'
import { bulkOf, CATEGORY_DEFAULT, sourceOf, templateOf } from '../templates/use-template.ts'
import { type IdempotentResult, scheduleOf, storedResponse, watchAccepts } from './acceptance.ts'
import {
  acceptBulk,
  type BulkDraft,
  type BulkParts,
  replay,
  type Sending,
  type SentBulk,
  saidBy,
  UNSAID,
} from './bulk-accept.ts'
import { endPause, pauseBulk, resumeBulk } from './bulk-pauses.ts'
import { type RecipientDraft, type RejectedRecipient, recipientsOf } from './bulk-recipients.ts'
import { emailDraftsOf } from './email-drafts.ts'

import { acceptWithFiles, attachmentsOf, readFiles, storeFiles } from './stored-files.ts'

/** Options of a bulk. */
export interface SendOptions {
  idempotency_key?: string | undefined
}

/** `compared`: what a repeated request with the same key is compared by; default: the request. */
export type SendOptionsIn<F extends Form> = F extends 'decoded'
  ? SendOptions & { compared?: unknown }
  : SendOptions

/**
 * A bulk in a list: of its messages, only those that are queued or failed are counted. A content longer than
 * `LIMITS.bulk_list_content_length` is null.
 */
export type ListedBulk = Omit<Bulk, 'counts' | 'credits_refunded' | 'failures' | 'retryable'> & {
  queued: number
  failed: number
  /** The earliest schedule of a queued message; null if none is scheduled. */
  scheduled_at: Date | null
}

/** The message that one recipient of a bulk would get; `content` is null if there is none, and `message` says why. */
export interface BulkPreview {
  to: string | null
  content: Content | null
  message: string | null
}

/** Many messages of one request. */
export interface Bulks<F extends Form = 'given'> {
  /**
   * Accepts one message for each recipient. When the promise resolves, the messages and their one debit are stored.
   * @throws SvcError `insufficient_credits`, `forbidden`, `rate_limit_exceeded` or `validation_error`; nothing is stored
   * then.
   */
  send(
    identity: KeyIdentity,
    request: BodyIn<typeof endpoints.send, F>,
    options?: SendOptions,
  ): Promise<IdempotentResult<SentBulk>>
  /**
   * Accepts e-mails that differ in content, recipients and schedule, as one bulk with one debit. `to` of a result is the first
   * recipient of its e-mail. `permissive` leaves out e-mails with a fault, or with a suppressed recipient.
   * @throws SvcError in the same cases as `send`; nothing is stored then.
   */
  sendEmails(
    identity: KeyIdentity,
    request: BodyIn<typeof emailBulk, F>,
    options?: SendOptionsIn<F>,
  ): Promise<IdempotentResult<SentBulk>>
  /**
   * The message that the one recipient of a request would get, or the reason why there is none. Nothing is stored or charged.
   * @throws SvcError `validation_error` for other faults of the request, and for another number of recipients.
   */
  preview(identity: KeyIdentity, request: BodyIn<typeof endpoints.send, F>): Promise<BulkPreview>
  /**
   * One bulk with the counts of its messages by status.
   * @throws SvcError `not_found`, also for a bulk that the viewer may not see.
   */
  get(viewer: Viewer, bulkId: string): Promise<Bulk>
  /** Returns a page of the bulks, newest first. `id`: only the bulk with this id. */
  list(
    viewer: Viewer,
    page: Slice & { id?: string | undefined; channel?: Channel | undefined },
  ): Promise<{ bulks: ListedBulk[]; next_after: string | null }>
  /**
   * Returns a page of the rejected recipients of a bulk, as in the request, and their total number. `after` is a
   * `next_after`. `is_stored` is false, and the list empty, if recipients were rejected but are not stored: an earlier
   * version accepted the bulk, or retention removed them.
   * @throws SvcError in the same cases as `get`; `validation_error` for any other `after`.
   */
  rejected(
    viewer: Viewer,
    bulkId: string,
    page: Slice,
  ): Promise<{
    rejected: BulkRejection[]
    is_stored: boolean
    total: number
    next_after: string | null
  }>
  /**
   * Pauses a bulk: its messages that no worker has begun to send are held until it is resumed.
   * @throws SvcError in the same cases as `get`; `validation_error` if it is paused, is a step of a broadcast, or no message is queued.
   */
  pause(viewer: Viewer, bulkId: string): Promise<Bulk>
  /**
   * Resumes a bulk. Held messages go at once; quiet hours defer them.
   * @throws SvcError in the same cases as `get`; `validation_error` if it is not paused, as after a cancellation.
   */
  resume(viewer: Viewer, bulkId: string): Promise<Bulk>
  /** The newest 10 paused bulks that have queued messages, and the number of these messages. */
  paused(viewer: Viewer): Promise<(Pick<Bulk, 'id' | 'name'> & { queued: number })[]>
  /**
   * Fails, with the code `canceled`, the messages that are not being sent yet, and returns their credits. Ends a pause.
   * @throws SvcError in the same cases as `get`.
   */
  cancel(viewer: Viewer, bulkId: string): Promise<{ bulk: Bulk; canceled: number }>
  /**
   * Sends, as a new bulk, each message that failed before a provider accepted it and was refunded. Does not send canceled or
   * erased messages. Does not send messages that stay paid: a provider accepted them and then did not deliver them, or may
   * have them (`outcome_unknown`). The new messages have the same text, metadata and time to live, the current prices, one
   * debit, and no schedule, except by quiet hours. Recipients that are suppressed now are rejected. A bulk is retried once: a repeated call within 24
   * hours returns the same result.
   * @throws SvcError like `get` and `send`; `validation_error` if there is nothing to send, or if messages of the bulk are
   * still queued.
   */
  retry(identity: KeyIdentity, bulkId: string): Promise<IdempotentResult<SentBulk>>
}

/** The paused bulks that are reported: for each of them all its messages are counted. */
const PAUSED_MAX = 10

export function createBulks(parts: BulkParts): Bulks<'decoded'> {
  const { storage, runtime, senders, sequences } = parts
  const watched = watchAccepts(runtime.telemetry, parts.tracing)

  async function find(viewer: Viewer, bulkId: string): Promise<BulkRow> {
    const view = viewOf(viewer)
    const row = seen(view, await storage.read.bulks.byId(view.workspace_id, bulkId))
    if (!row) throw new SvcError('not_found', 'Bulk not found')
    return row
  }

  async function recordOf(row: BulkRow): Promise<Bulk> {
    const { bulks } = storage.read
    const progress = await bulks.progress(row.workspace_id, row.id)
    const mayRetry = progress.retryable > 0 && progress.counts.queued === 0
    const wasRetried = mayRetry && (await bulks.retryOf(row.workspace_id, row.id)) !== null
    return {
      ...{ ...row, ...stateOf(row, progress.counts), ...progress },
      retryable: mayRetry && !wasRetried ? progress.retryable : 0,
    }
  }

  async function storedResult(
    identity: KeyIdentity,
    { key, ...request }: BulkDraft['idempotency'],
  ): Promise<IdempotentResult<SentBulk> | null> {
    const response = await storedResponse(storage, identity, key, request)
    return response === null ? null : replay(response)
  }

  async function accept(
    identity: KeyIdentity,
    draft: BulkDraft,
  ): Promise<IdempotentResult<SentBulk>> {
    const { channel, drafts, rejected, isStrict } = draft
    if (sequences && !(isStrict && rejected.length > 0)) {
      await sequences.check(
        identity,
        channel,
        drafts.map(({ to }) => to),
      )
    }
    const files = drafts.flatMap((one) => one.files ?? [])
    return acceptWithFiles(
      parts,
      identity.workspace_id,
      files,
      () => acceptBulk(parts, identity, draft),
      ({ replayed }) => !replayed,
    )
  }

  /** @throws SvcError `validation_error` for a bulk that was retried or still has queued messages. */
  async function assertRetryable(workspaceId: string, bulkId: string): Promise<void> {
    const later = await storage.read.bulks.retryOf(workspaceId, bulkId)
    if (later) throw invalid('id', `This bulk was sent again already, as bulk ${later.id}`)
    const { counts } = await storage.read.bulks.progress(workspaceId, bulkId)
    if (counts.queued > 0) {
      throw invalid(
        'id',
        'This bulk still has queued messages: send the failed ones again when none is queued',
      )
    }
  }

  async function send(
    identity: KeyIdentity,
    given: BulkRequest | TemplateBulkRequest,
    key: string | undefined,
  ): Promise<IdempotentResult<SentBulk>> {
    const idempotency = { route: 'bulks.send', request: given, key }
    const known = await storedResult(identity, idempotency)
    if (known) return known
    const source =
      'template' in given ? await sourceOf(storage.read, identity.workspace_id, given) : null
    const request =
      source === null ? (given as BulkRequest) : bulkOf(given as TemplateBulkRequest, source)
    const schedule = scheduleOf(request, runtime.now())
    const wrongSender = await senders.fault(identity, request, source !== null)
    if (wrongSender !== null) throw invalid(wrongSender.path, wrongSender.message)
    const sender = await senders.of(identity.workspace_id, request)
    const { drafts, rejected, duplicates } = await recipientsOf(parts, identity, request, source)
    const sending = {
      ...{ schedule, sender, template: source?.used },
      category: source?.category ?? CATEGORY_DEFAULT,
    }
    return accept(identity, {
      channel: request.channel,
      total: request.recipients.length,
      drafts,
      sendingOf: () => sending,
      rejected,
      duplicates: duplicates.length,
      isStrict: request.validation === 'strict',
      list: 'recipients',
      idempotency,
      retry_of: null,
      said: saidBy(request),
    })
  }

  async function sendEmails(
    identity: KeyIdentity,
    request: EmailBulk,
    { idempotency_key: key, compared = request }: SendOptions & { compared?: unknown },
  ): Promise<IdempotentResult<SentBulk>> {
    const idempotency = { route: 'bulks.sendEmails', request: compared, key }
    const known = await storedResult(identity, idempotency)
    if (known) return known
    const found = await emailDraftsOf(parts, identity, request.emails, runtime.now())
    for (const draft of found.drafts) {
      const place = `emails.${draft.index}.content.attachments`
      const content = await readFiles(draft.content, parts.attachments_max_bytes, place)
      Object.assign(draft, await storeFiles(parts, identity.workspace_id, content))
    }
    return accept(identity, {
      channel: 'email',
      total: request.emails.length,
      ...found,
      duplicates: 0,
      isStrict: request.validation === 'strict',
      list: 'emails',
      idempotency,
      retry_of: null,
      said: UNSAID,
    })
  }

  async function retry(identity: KeyIdentity, row: BulkRow): Promise<IdempotentResult<SentBulk>> {
    const { workspace_id, mode } = identity
    const bulkId = row.id
    // A client that got no response repeats the request, so the id of the bulk is the idempotency key.
    const idempotency = { route: 'bulks.retry', request: { bulk_id: bulkId }, key: bulkId }
    const known = await storedResult(identity, idempotency)
    if (known) return known
    if (!row.livemode && mode === 'live') throw needsTestKey()
    await assertRetryable(workspace_id, bulkId)
    const failed = await storage.read.messages.ofBulk(workspace_id, bulkId, 'failed')
    const retryable = failed.filter(isRetryable)
    if (retryable.length === 0) throw nothingToRetry(failed)
    const withFiles = retryable.filter(({ content }) => attachmentsOf(content).length > 0)
    const files = await storage.read.files.ofMessages(
      workspace_id,
      withFiles.map(({ id }) => id),
    )
    const { name, sender, content } = row
    const templates = await templatesOf(storage.read, retryable)
    return accept(identity, {
      channel: row.channel,
      said: { name, sender, content },
      ...retryDraft(parts, retryable, { at: runtime.now(), files, templates }),
      idempotency,
      retry_of: bulkId,
    })
  }

  return {
    send: (identity, request, { idempotency_key: key } = {}) =>
      watched(request.channel, () => send(identity, request, key), madeBy),
    sendEmails: (identity, request, options = {}) =>
      watched('email', () => sendEmails(identity, request, options), madeBy),
    async preview(identity, given) {
      const source =
        'template' in given ? await sourceOf(storage.read, identity.workspace_id, given) : null
      const request =
        source === null ? (given as BulkRequest) : bulkOf(given as TemplateBulkRequest, source)
      if (request.recipients.length !== 1) throw invalid('recipients', 'Give one recipient')
      const { drafts, rejected } = await recipientsOf(parts, identity, request, source)
      const [draft] = drafts
      if (draft) return { to: draft.to, content: draft.content, message: null }
      return { to: rejected[0]?.to ?? null, content: null, message: rejected[0]?.message ?? '' }
    },
    get: async (viewer, bulkId) => recordOf(await find(viewer, bulkId)),
    async list(viewer, { id, channel, ...slice }) {
      const { workspace_id, livemode } = viewOf(viewer)
      const content_length = LIMITS.bulk_list_content_length
      const page = { ...withNext(slice), content_length }
      const found = await storage.read.bulks.list(workspace_id, { id, channel, livemode }, page)
      const { rows, next_after } = pageOf(found, slice, ({ id }) => id)
      const bulks = rows.map((row) => ({ ...row, ...stateOf(row, row) }))
      return { bulks, next_after }
    },
    async rejected(viewer, bulkId, { limit, offset, after }) {
      const { workspace_id, rejected } = await find(viewer, bulkId)
      const { rejections } = storage.read.bulks
      const slice = { limit, offset }
      const page = { ...withNext(slice), after: after === undefined ? undefined : readIndex(after) }
      const found = await rejections(workspace_id, bulkId, page)
      const { rows, next_after } = pageOf(found, slice, ({ position }) => String(position))
      const first = { limit: 1, offset: 0 }
      const is_stored =
        rejected === 0 ||
        rows.length > 0 ||
        (await rejections(workspace_id, bulkId, first)).length > 0
      return {
        rejected: rows.map(rejectionOf),
        is_stored,
        total: is_stored ? rejected : 0,
        next_after,
      }
    },
    async pause(viewer, bulkId) {
      await pauseBulk(parts, await find(viewer, bulkId))
      return recordOf(await find(viewer, bulkId))
    },
    async resume(viewer, bulkId) {
      await resumeBulk(parts, await find(viewer, bulkId))
      return recordOf(await find(viewer, bulkId))
    },
    async paused(viewer) {
      const { workspace_id, livemode } = viewOf(viewer)
      const rows = await storage.read.bulks.paused(workspace_id, livemode, PAUSED_MAX)
      const found = await Promise.all(
        rows.map(async ({ id, name }) => {
          const { counts } = await storage.read.bulks.progress(workspace_id, id)
          return { id, name, queued: counts.queued }
        }),
      )
      // The last message may have ended since.
      return found.filter(({ queued }) => queued > 0)
    },
    async cancel(viewer, bulkId) {
      const row = await find(viewer, bulkId)
      const { workspace_id } = row
      const queued = await storage.read.messages.ofBulk(workspace_id, bulkId, 'queued')
      const outcomes = await storage.hot.cancel({
        workspace_id,
        message_ids: queued.map(({ id }) => id),
        at: runtime.now(),
      })
      const canceled = outcomes.filter((outcome) => outcome === 'canceled').length
      await endPause(parts, row)
      return { bulk: await recordOf(await find(viewer, bulkId)), canceled }
    },
    async retry(identity, bulkId) {
      const row = await find(identity, bulkId)
      return watched(row.channel, () => retry(identity, row), madeBy)
    },
  }
}

function madeBy({ bulk_id, messages }: SentBulk): Accepted {
  return { message_ids: messages.map(({ message_id }) => message_id), bulk_id }
}

/** A pause that holds nothing is not shown: the messages that were being sent have ended. */
function stateOf(
  { accepted, paused_at }: BulkRow,
  { queued }: Pick<Bulk['counts'], 'queued'>,
): Pick<Bulk, 'status' | 'paused_at'> {
  if (queued === 0) return { status: 'completed', paused_at: null }
  return { status: queued === accepted ? 'queued' : 'processing', paused_at }
}

function rejectionOf({ position, recipient, error, message }: BulkRejectionRow): BulkRejection {
  return { index: position, to: recipient, error, message }
}

/** @throws SvcError `validation_error` for a text that is not an index. */
function readIndex(after: string): number {
  if (/^\d{1,9}$/.test(after)) return Number(after)
  throw invalid('after', 'after must be the next_after of an earlier page')
}

function nothingToRetry(failed: readonly Pick<MessageRow, 'erased_at'>[]): SvcError {
  return invalid(
    'id',
    failed.some(({ erased_at }) => erased_at !== null)
      ? 'This bulk cannot be sent again: the recipients of its failed messages were erased'
      : 'This bulk has no failed messages to send again',
  )
}

function needsTestKey(): SvcError {
  return invalid('id', 'This bulk was sent with a test key: send it again with one')
}

type Templated = Pick<Sending, 'template' | 'category'>

/** The templates of messages. Those of a bulk have one, those of a bulk of e-mails one each. */
async function templatesOf(
  reads: Parameters<typeof templateOf>[0],
  messages: readonly MessageRow[],
): Promise<(row: MessageRow) => Templated> {
  const keyOf = (row: MessageRow) =>
    JSON.stringify([row.template, row.template_version, row.template_locale])
  const found = new Map<string, Templated>()
  for (const row of messages) {
    const key = keyOf(row)
    if (!found.has(key)) found.set(key, await templateOf(reads, row))
  }
  return (row) => found.get(keyOf(row)) as Templated
}

/** The same messages at the current prices. */
function retryDraft(
  { priceOf, countryFault }: Pick<BulkParts, 'priceOf' | 'countryFault'>,
  messages: readonly MessageRow[],
  {
    at,
    files,
    templates,
  }: { at: Date; files: readonly FileOfMessage[]; templates: (row: MessageRow) => Templated },
): Omit<BulkDraft, 'channel' | 'retry_of' | 'idempotency' | 'said'> {
  const drafts: RecipientDraft[] = []
  const rejected: RejectedRecipient[] = []
  for (const [index, row] of messages.entries()) {
    const { recipient: to, channel, content, metadata } = row
    const message = countryFault?.(channel, to)
    if (!message) {
      const recipients = row.recipients ?? undefined
      const price = priceForSeveral(priceOf(channel, content)(to), recipients?.length ?? 1)
      drafts.push({
        ...{ index, to, recipients, content, metadata, price },
        files: files
          .filter(({ message_id }) => message_id === row.id)
          .map(({ number, sha256 }) => ({ number, sha256 })),
      })
    } else {
      rejected.push({ index, field: '', to, error: 'country_not_allowed', message })
    }
  }
  return {
    total: messages.length,
    drafts,
    rejected,
    sendingOf({ index }) {
      const row = messages[index] as MessageRow
      return { ...retrySending(row, at), ...templates(row) }
    },
    duplicates: 0,
    isStrict: false,
    list: 'recipients',
  }
}

/** The recipient of an accepted message may have got it; canceled and erased messages must not be sent. */
function isRetryable({ accepted, error_code, erased_at }: MessageRow): boolean {
  return !accepted && error_code !== 'canceled' && erased_at === null
}

/** The new schedule: the message is sent now and has the same time to live. */
function retrySending(
  { sender, scheduled_at, created_at, expires_at }: MessageRow,
  at: Date,
): Pick<Sending, 'schedule' | 'sender'> {
  const ttl_ms = expires_at && expires_at.getTime() - (scheduled_at ?? created_at).getTime()
  const schedule = {
    scheduled_at: null,
    expires_at: ttl_ms === null ? null : new Date(at.getTime() + ttl_ms),
    deferred_until: null,
  }
  return { schedule, sender }
}
