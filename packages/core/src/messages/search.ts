import { setImmediate as turn } from 'node:timers/promises'
import { seen, type Viewer, viewOf } from '../api-keys/viewer.ts'
import { fold, historyAddresses } from '../contacts/change.ts'
import { type AddressContact, contactsOf } from '../contacts/read-contacts.ts'
import { pageOf, withNext } from '../contract/endpoints/paging.ts'
import { SvcError } from '../contract/errors.ts'
import { uuid } from '../contract/fields/fields.ts'
import { LIMITS } from '../contract/limits.ts'
import type { Content } from '../contract/resources/content.ts'
import type { MailRecipient } from '../contract/resources/mail-recipients.ts'
import type { Message, MessageExport, MessageSearch } from '../contract/resources/messages.ts'
import type { StoredRecipient } from '../rows/messages.ts'
import type { MessageRow } from '../rows/rows.ts'
import { hasWords, wordsOf } from '../rules/contact-words.ts'
import { idFloor, type Runtime } from '../runtime/runtime.ts'
import { withoutCode } from '../secrets/codes.ts'
import type { Storage } from '../storage/ports/storage.ts'
import type { MessageFilter, Reads, ShortMessageRow } from '../storage/ports/stores.ts'
import { attachmentsOf, withAttachments } from './stored-files.ts'

/** The numbers of messages that one query of a search reads, and one call. */
interface Bounds {
  step: number
  max: number
  /** The canceled messages that a list of failed ones may pass over. */
  passed?: number
}

/** A query for messages of 500 bytes takes about 20 ms of a reader thread, so that other reads get their turn. */
const BOUNDS: Bounds = { step: 5_000, max: LIMITS.messages_examined }

/** A search with long e-mails ends earlier than by its number of messages. */
const TIME_MAX_MS = 500

/** The newest failed messages of a channel that are counted by their errors. Canceled ones are among them. */
export const FAILURES_EXAMINED = 5_000

/** Among more canceled messages, the other failed ones are searched with a bound, as for a text. */
const CANCELED_PASSED_MAX = 10_000

/** The contacts of a searched name. Their addresses are compared with each examined message. */
const NAMED_MAX = 20
/** Contacts with these words in their name or addresses that are looked at for it. */
const NAMES_EXAMINED = 200

const HOUR_MS = 3_600_000

/** The maximum difference between the time in an id and the time of the message, on servers with different clocks. */
export const ID_SKEW_MS = HOUR_MS

/** A message with the contact that has the address of its recipient. */
export type FoundMessage = ShortMessage & { contact: AddressContact | null }

/** A page of a search, newest first. */
export interface FoundMessages {
  messages: FoundMessage[]
  /** The number of messages that the filter selects; null for a broadcast, and if messages had to be examined. */
  total: number | null
  /** The `after` of the next page; null if every message was examined. */
  next_after: string | null
  /** When the oldest examined message was created, if older messages were not examined yet. */
  searched_until: Date | null
}

type Parts = { storage: Pick<Storage, 'read'>; runtime: Pick<Runtime, 'now'> }

/**
 * A page of the messages that a filter selects, with the contacts of the recipients. With a text, an error, a key, a sender,
 * a tag or a calling code at most `LIMITS.messages_examined` messages are read, of those with the error, so a page may have fewer messages than
 * `limit` although more follow. A text that is the id of a message finds this message only. A text whose words begin words of the
 * name of a contact also finds the messages to this contact, of at most 20 contacts.
 */
export async function searchMessages(
  parts: Parts,
  viewer: Viewer,
  search: MessageSearch,
  bounds: Bounds = BOUNDS,
): Promise<FoundMessages> {
  const { messages, ...page } = await findMessages(parts, viewer, search, bounds)
  const recipients = messages.map(({ recipient }) => recipient)
  const { contacts } = parts.storage.read
  const contactOf = await contactsOf(contacts, viewOf(viewer).workspace_id, recipients)
  const found = messages.map((message) =>
    Object.assign(message, { contact: contactOf(message.recipient) }),
  )
  return { messages: found, ...page }
}

async function findMessages(
  { storage: { read }, runtime }: Parts,
  viewer: Viewer,
  {
    search,
    startDate,
    endDate,
    limit,
    after,
    contact_id,
    calling_code,
    ...asked
  }: MessageSearch & Pick<MessageExport, 'recipient' | 'template'>,
  { step, max, passed = CANCELED_PASSED_MAX }: Bounds,
  isCounted = true,
): Promise<Omit<FoundMessages, 'messages'> & { messages: ShortMessage[] }> {
  const view = viewOf(viewer)
  const { workspace_id, livemode } = view
  // The messages that a request canceled have an index of their own.
  const own =
    asked.error_code === 'canceled'
      ? { ...asked, error_code: undefined, status: 'canceled' as const }
      : asked
  const filter = { ...own, livemode, from: startDate, until: endDate }
  const addresses =
    contact_id === undefined ? undefined : await addressesOfContact(read, workspace_id, contact_id)
  const content_length = LIMITS.list_content_length
  const { channel, api_key_id, sender, tag, bulk_id } = own
  const isBehindMany =
    own.status === 'failed_only' &&
    bulk_id === undefined &&
    addresses === undefined &&
    (await read.messages.count(workspace_id, {
      ...{ channel, livemode, from: startDate, until: endDate, status: 'canceled' },
    })) > passed
  const isExamined =
    isBehindMany || [search, own.error_code, api_key_id, sender, tag, calling_code].some(Boolean)
  if (!isExamined && addresses) {
    const own = { ...filter, before_id: after }
    const found = await messagesTo(read, workspace_id, { addresses, filter: own, limit: limit + 1 })
    const { rows, next_after } = pageOf(found, { limit }, ({ id }) => id)
    return { messages: rows, ...COMPLETE, next_after }
  }
  if (!isExamined) {
    const slice = { limit, offset: 0 }
    const page = { ...withNext(slice), content_length }
    const [found, total] = await Promise.all([
      read.messages.listShort(workspace_id, { ...filter, before_id: after }, page),
      // To count those of a broadcast, all messages of its time would be read for each page.
      isCounted && own.broadcast_id === undefined
        ? read.messages.count(workspace_id, filter)
        : null,
    ])
    const { rows, next_after } = pageOf(found, slice, ({ id }) => id)
    return { messages: rows.map(shownShort), total, next_after, searched_until: null }
  }
  if (search !== undefined && after === undefined && uuid.safeParse(search).success) {
    const row = seen(view, await read.messages.byId(workspace_id, search))
    const isAsked = row && (!addresses || addresses.includes(row.recipient))
    if (isAsked) return { messages: [shown(row)], ...COMPLETE }
  }
  const named = search === undefined ? [] : await addressesOfName(read, workspace_id, search)
  const messages: ShortMessage[] = []
  const began_ms = runtime.now().getTime()
  let before_id = after
  for (let examined = step; ; examined += step) {
    const { rows, last } = await read.messages.search(
      workspace_id,
      { ...filter, before_id, part: search, recipients: addresses, named, calling_code },
      { limit: limit - messages.length + 1, content_length, examine: step },
    )
    messages.push(...rows.map(shownShort))
    const { rows: page, next_after } = pageOf(messages, { limit }, ({ id }) => id)
    if (next_after !== null) return { messages: page, ...COMPLETE, next_after }
    if (!last) return { messages, ...COMPLETE }
    before_id = last.id
    const isLate = runtime.now().getTime() - began_ms > TIME_MAX_MS
    if (isLate || examined >= max) {
      return { messages, total: null, next_after: last.id, searched_until: last.created_at }
    }
  }
}

async function addressesOfContact(
  read: Pick<Reads, 'contacts'>,
  workspaceId: string,
  contactId: string,
): Promise<string[]> {
  const row = await read.contacts.byId(workspaceId, contactId)
  if (!row) throw new SvcError('not_found', 'Contact not found')
  return historyAddresses(row)
}

/** The addresses of the contacts in whose name each word of the text begins a word. */
async function addressesOfName(
  read: Pick<Reads, 'contacts'>,
  workspaceId: string,
  search: string,
): Promise<string[]> {
  const words = wordsOf(fold(search)).slice(0, LIMITS.person_search_words)
  const rows = await read.contacts.withWords(workspaceId, words, NAMES_EXAMINED)
  // The words of a contact are also those of its addresses, which the text finds in the messages themselves.
  const named = rows.filter(({ name }) => name !== null && hasWords(fold(name), words))
  return [...new Set(named.slice(0, NAMED_MAX).flatMap(historyAddresses))]
}

/** The messages of a page of an export: with contents of 32 KB, a page has 6 MB. */
const EXPORT_PAGE = 200

/** The searches of one export that end at their own bound: they examine 5,000,000 messages in some 20 s. */
const EXPORT_SEARCHES = 100

/**
 * The error of an export that examined too many messages which its filter does not select. `after` continues behind the last
 * examined one.
 */
export class ExportBound extends SvcError {
  readonly after: string

  constructor(after: string) {
    const message = `The export examined too many messages that the filter does not select: narrow the time, or continue with after=${after}`
    super('validation_error', message, { details: [{ path: 'after', message }] })
    this.after = after
  }
}

/**
 * All messages that a filter selects in pages, newest first, without those that are accepted meanwhile. At most `limit` messages; each
 * page is read when the caller asks for it. A page is empty if a search found nothing until its bound, so that the caller can end the export.
 * @throws ExportBound after too many such searches.
 */
export async function* exportMessages(
  parts: Parts,
  viewer: Viewer,
  { limit, ...search }: MessageExport,
  { searches, ...bounds } = { ...BOUNDS, searches: EXPORT_SEARCHES },
): AsyncGenerator<ShortMessage[]> {
  let { after } = search
  let bounded = 0
  for (let rest = limit; rest > 0; ) {
    const page = { ...search, after, limit: Math.min(EXPORT_PAGE, rest) }
    const found = await findMessages(parts, viewer, page, bounds, false)
    const { messages, next_after, searched_until } = found
    yield messages
    if (next_after === null) return
    rest -= messages.length
    if (searched_until !== null) bounded += 1
    if (bounded >= searches && rest > 0) throw new ExportBound(next_after)
    after = next_after
    // A database in this thread blocks the event loop, so other work gets its turn between two pages.
    await turn()
  }
}

/** The newest messages to some addresses, newest first: one query for each address, which its index serves. */
export async function messagesTo(
  read: Pick<Reads, 'messages'>,
  workspaceId: string,
  {
    addresses,
    filter,
    limit,
  }: { addresses: readonly string[]; filter: MessageFilter; limit: number },
): Promise<ShortMessage[]> {
  const page = { limit, offset: 0, content_length: LIMITS.list_content_length }
  const found = await Promise.all(
    addresses.map((recipient) =>
      read.messages.listShort(workspaceId, { ...filter, recipient }, page),
    ),
  )
  const newest = found.flat().sort((a, b) => (a.id < b.id ? 1 : -1))
  return newest.slice(0, limit).map(shownShort)
}

const COMPLETE = { total: null, next_after: null, searched_until: null } as const

/** The failures of the last hour, by their error, most frequent first; at most 5,000 of each channel are counted. */
export async function recentFailures(
  { storage: { read }, runtime }: Parts,
  viewer: Viewer,
): Promise<{ error_code: string | null; count: number }[]> {
  const { workspace_id, livemode } = viewOf(viewer)
  const since = new Date(runtime.now().getTime() - HOUR_MS)
  const first_id = idFloor(new Date(since.getTime() - ID_SKEW_MS))
  const filter = {
    status: 'failed',
    since,
    first_id,
    livemode,
    examine: FAILURES_EXAMINED,
  } as const
  return read.messages.errorsSince(workspace_id, filter)
}

/** A message in a list. A content longer than `LIMITS.list_content_length` is null. */
export type ShortMessage = Omit<Message, 'content'> & { content: Message['content'] | null }

/** A message for its workspace: attachments have their size instead of their content. */
export function shown(row: MessageRow): Message {
  return recordOf(row, shownContent(row.content))
}

/** A message with the contents of its attachments. */
export function whole(row: MessageRow): Message {
  return recordOf(row, withoutCode(row.content))
}

export function shownShort(row: ShortMessageRow): ShortMessage {
  const { content } = row
  return recordOf(row, content === null ? null : shownContent(content))
}

/**
 * The record of a message. `recipients` is present only for a message with several recipients, `duration_s` only for a
 * call that ended, `template` only for a message from a stored template, and `deferred_until` only for one that quiet hours
 * deferred.
 */
function recordOf<Shown extends ShortMessage['content']>(
  {
    recipients,
    tags: _,
    duration_s,
    template: name,
    template_version: version,
    template_locale: locale,
    deferred_until,
    ...row
  }: ShortMessageRow,
  content: Shown,
): Omit<Message, 'content'> & { content: Shown } {
  // Changed in place, because to spread a rest object takes three times as long as to make it.
  const record = Object.assign<Omit<typeof row, 'content'>, { content: Shown }>(row, { content })
  const isFromTemplate = name !== null && version !== null && locale !== null
  const isPlain = duration_s === null && recipients === null && deferred_until === null
  if (isPlain && !isFromTemplate) return record
  return {
    ...record,
    ...(duration_s !== null && { duration_s }),
    ...(recipients !== null && { recipients: recipients.map(shownRecipient) }),
    ...(isFromTemplate && { template: { name, version, locale } }),
    ...(deferred_until !== null && { deferred_until }),
  }
}

function shownRecipient({ accepted: _, ...recipient }: StoredRecipient): MailRecipient {
  return recipient
}

function shownContent(given: Content): Content {
  const content = withoutCode(given)
  const attachments = attachmentsOf(content)
  if (attachments.length === 0) return content
  return withAttachments(
    content,
    attachments.map(({ content, size_bytes, ...file }) => ({
      ...file,
      size_bytes: size_bytes ?? Buffer.byteLength(content, 'base64'),
    })),
  )
}
