import type { Viewer } from '@svc/core'
import type { DecodedCore } from '@svc/core/operate'
import { receivedRecord, sentRecord } from './message-record.ts'
import { addressOf, PAGE_NAMES, type Page, pageOf, pageRecord, timesOf } from './pages.ts'
import { Given, type Parameters } from './parameters.ts'

const LISTING = {
  name: 'messages',
  place: '/Messages',
  kind: 'message',
  filters: ['To', 'From', 'DateSent', 'DateSent<', 'DateSent>'],
} as const

const NAMES = new Set([...LISTING.filters, ...PAGE_NAMES])

type Name = typeof NAMES extends Set<infer N> ? N : never

interface Filter {
  channels: readonly ('sms' | 'whatsapp')[]
  to: string | undefined
  from: string | undefined
  startDate: Date | undefined
  endDate: Date | undefined
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
  const page = pageOf(given, LISTING.kind)
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
  const records = rows.flatMap(({ record }) => (record === ERASED_RECORD ? [] : [record]))
  const next = hasMore && last ? last.id : null
  return pageRecord(LISTING, given, { workspace_id, page, records, length: rows.length, next })
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
    ...timesOf(given, 'DateSent'),
  }
}
