import type { Viewer } from '@svc/core'
import { idOfSid, LIMITS, parseDateTime, readTwilioAddress, sidOf } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import { TwilioError } from './errors.ts'
import { pathOf, receivedRecord, sentRecord } from './message-record.ts'
import { Given, type Parameters } from './parameters.ts'

const NAMES = new Set([
  'To',
  'From',
  'DateSent',
  'DateSent<',
  'DateSent>',
  'PageSize',
  'Page',
  'PageToken',
] as const)

type Name = typeof NAMES extends Set<infer N> ? N : never

/** Twilio's largest page. A larger page than that of the API is served in several pages. */
const PAGE_SIZE_MAX = 1000
const DAY_MS = 24 * 60 * 60 * 1000

const TOKEN = /^PA(SM[0-9a-f]{32})$/

interface Filter {
  channels: readonly ('sms' | 'whatsapp')[]
  to: string | undefined
  from: string | undefined
  startDate: Date | undefined
  endDate: Date | undefined
}

interface Page {
  size: number
  number: number
  after: string | undefined
}

interface Listed {
  id: string
  record: object
}

/** A page of sent and received messages together, newest first, in Twilio's form. */
export async function listMessages(
  core: Pick<DecodedCore, 'messages' | 'received'>,
  { viewer, workspace_id }: { viewer: Viewer; workspace_id: string },
  parameters: Parameters,
  now: Date,
): Promise<object> {
  const given = new Given<Name>(parameters, NAMES)
  const filter = filterOf(given)
  const page = pageOf(given)
  const found = await Promise.all(
    filter.channels
      .map((channel) => queryOf(channel, filter, page))
      .flatMap((query) => [
        sent(core, viewer, { query, now }),
        received(core, viewer, { query, workspace_id }),
      ]),
  )
  // Ids of both kinds are UUIDv7, so their order is the order of creation.
  const all = found.flatMap(({ rows }) => rows).sort((a, b) => (a.id < b.id ? 1 : -1))
  const rows = all.slice(0, page.size)
  const hasMore = all.length > rows.length || found.some(({ isFull }) => isFull)
  const last = rows.at(-1)
  const next = hasMore && last ? { number: page.number + 1, after: last.id } : null
  return pageRecord(workspace_id, given, { page, rows, next })
}

function pageRecord(
  workspace_id: string,
  given: Given<Name>,
  {
    page,
    rows,
    next,
  }: { page: Page; rows: readonly Listed[]; next: Pick<Page, 'number' | 'after'> | null },
): object {
  const { size, number } = page
  const start = number * size
  const uri = (to: Pick<Page, 'number' | 'after'>) => pageUri(workspace_id, given, { ...to, size })
  return {
    messages: rows.filter(({ record }) => record !== ERASED_RECORD).map(({ record }) => record),
    page: number,
    page_size: size,
    start,
    end: start + Math.max(0, rows.length - 1),
    uri: uri(page),
    first_page_uri: uri({ number: 0, after: undefined }),
    previous_page_uri: null,
    next_page_uri: next && uri(next),
  }
}

/** Stands for an erased message, which keeps its place in the page but is not shown. */
const ERASED_RECORD = {}

interface Found {
  rows: Listed[]
  isFull: boolean
}

async function sent(
  { messages }: Pick<DecodedCore, 'messages'>,
  viewer: Viewer,
  { query, now }: { query: Query; now: Date },
): Promise<Found> {
  const found = await messages.listShort(viewer, query)
  const rows = found.messages.map((message) => ({
    id: message.id,
    record: message.erased_at === null ? sentRecord(message, now) : ERASED_RECORD,
  }))
  return { rows, isFull: found.next_after !== null }
}

async function received(
  { received }: Pick<DecodedCore, 'received'>,
  viewer: Viewer,
  { query, workspace_id }: { query: Query; workspace_id: string },
): Promise<Found> {
  const found = await received.list(viewer, query)
  const rows = found.received.map((message) => ({
    id: message.id,
    record: receivedRecord(workspace_id, message),
  }))
  return { rows, isFull: found.next_after !== null }
}

type Query = ReturnType<typeof queryOf>

/** The query for one channel, of sent and of received messages. */
function queryOf(channel: 'sms' | 'whatsapp', filter: Filter, page: Page) {
  const { to: recipient, from: sender, startDate, endDate } = filter
  return { channel, recipient, sender, startDate, endDate, limit: page.size, after: page.after }
}

function filterOf(given: Given<Name>): Filter {
  const to = addressOf(given, 'To')
  const from = addressOf(given, 'From')
  const named = to?.channel ?? from?.channel
  const isMixed = to && from && to.channel !== from.channel
  return {
    // No message has addresses of two channels.
    channels: isMixed ? [] : named ? [named] : ['sms', 'whatsapp'],
    to: to?.address,
    from: from?.address,
    ...datesOf(given),
  }
}

function addressOf(given: Given<Name>, name: 'To' | 'From') {
  const text = given.filled(name)
  // An unescaped `+` of a query arrives as a space.
  return text === undefined ? undefined : readTwilioAddress(text.replace(/(?<=^|:) (?=[1-9])/, '+'))
}

/** The dates that the filters allow. `DateSent` is a day of UTC; `<` and `>` include their instant. */
function datesOf(given: Given<Name>): Pick<Filter, 'startDate' | 'endDate'> {
  const day = dateOf(given, 'DateSent')
  const until = dateOf(given, 'DateSent<')
  const from = dateOf(given, 'DateSent>')
  if (!day) return { startDate: from, endDate: until }
  const start = Math.floor(day.getTime() / DAY_MS) * DAY_MS
  return {
    startDate: new Date(Math.max(start, from?.getTime() ?? start)),
    endDate: new Date(Math.min(start + DAY_MS - 1, until?.getTime() ?? Number.POSITIVE_INFINITY)),
  }
}

function dateOf(
  given: Given<Name>,
  name: 'DateSent' | 'DateSent<' | 'DateSent>',
): Date | undefined {
  const text = given.filled(name)
  if (text === undefined) return undefined
  const date = parseDateTime(text)
  if (date) return date
  throw new TwilioError('invalid_parameter', `'${name}' must be a date in ISO 8601`)
}

function pageOf(given: Given<Name>): Page {
  const size =
    wholeNumber(given, 'PageSize', { min: 1, max: PAGE_SIZE_MAX }) ?? LIMITS.page_size_default
  const number = wholeNumber(given, 'Page', { min: 0, max: 999_999_999 }) ?? 0
  const token = given.filled('PageToken')
  const id = token === undefined ? null : idOfSid('message', TOKEN.exec(token)?.[1] ?? '')
  if (token !== undefined && id === null) {
    throw new TwilioError('invalid_parameter', "'PageToken' is not valid")
  }
  if (number > 0 && id === null) {
    throw new TwilioError('invalid_parameter', "'Page' needs the 'PageToken' of next_page_uri")
  }
  return { size: Math.min(size, LIMITS.page_size_max), number, after: id ?? undefined }
}

function wholeNumber(
  given: Given<Name>,
  name: 'PageSize' | 'Page',
  { min, max }: { min: number; max: number },
): number | undefined {
  const text = given.filled(name)
  if (text === undefined) return undefined
  const n = /^\d{1,9}$/.test(text) ? Number(text) : -1
  if (n >= min && n <= max) return n
  throw new TwilioError('invalid_parameter', `'${name}' must be ${min} to ${max}`)
}

function pageUri(workspace_id: string, given: Given<Name>, { size, number, after }: Page): string {
  const query = new URLSearchParams()
  for (const name of ['To', 'From', 'DateSent', 'DateSent<', 'DateSent>'] as const) {
    const value = given.filled(name)
    if (value !== undefined) query.set(name, value)
  }
  query.set('PageSize', String(size))
  query.set('Page', String(number))
  if (after !== undefined) query.set('PageToken', `PA${sidOf('message', after)}`)
  return `${pathOf(workspace_id, '/Messages')}?${query}`
}
