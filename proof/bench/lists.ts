import { getBytes, openConnection } from '../stage/connection.ts'
import { startPostgres } from '../stage/postgres.ts'
import { type Service, startService } from '../stage/service.ts'
import { onStage } from '../stage/stage.ts'
import { type BenchOptions, count, type Figure, median, quantile } from './figure.ts'
import { BULK, fillPostgres, fillSqlite, RECIPIENTS, sendOne } from './fill.ts'
import { inTurns } from './rounds.ts'

const SHORT = 1_000
const LONG = 1_000_000

/** A page of a long history takes at most twice the time of a page of a short history. */
const RATIO_MAX = 2

/** The server answers other requests during long reads. */
const DELAY_MAX_MS = 50

interface Query {
  [parameter: string]: string
}

/** Not at the begin of an hour or a day: these are counted alone. */
function daysAgo(days: number): string {
  const at_ms = Date.now() - days * 86_400_000
  return new Date(at_ms - (at_ms % 3_600_000) + 1_234_567).toISOString()
}

const SINCE = { startDate: daysAgo(60) }
const UNTIL = { endDate: daysAgo(30) }

/** Each filter selects a full page with the short history too, or a few of the oldest messages. */
const QUERIES: Record<string, Query> = {
  'no filter': {},
  'status, many': { status: 'delivered' },
  'status, some': { status: 'failed' },
  'status, a few old ones': { status: 'sent' },
  'channel, nearly all': { channel: 'sms' },
  'channel, a few old ones': { channel: 'whatsapp' },
  'start date': SINCE,
  'start date, the last days': { startDate: daysAgo(7) },
  'end date': UNTIL,
  'end date, the first days': { endDate: daysAgo(83) },
  'both dates': { ...SINCE, ...UNTIL },
  'both dates, a few days': { startDate: daysAgo(50), endDate: daysAgo(43) },
  'dates and status': { ...SINCE, ...UNTIL, status: 'failed' },
  'dates and status, none': { ...SINCE, status: 'sent' },
  'dates and channel': { ...SINCE, ...UNTIL, channel: 'sms' },
  'dates, channel and status': { ...SINCE, channel: 'sms', status: 'delivered' },
  'start date and channel': { ...SINCE, channel: 'whatsapp' },
  'end date and channel': { ...UNTIL, channel: 'whatsapp' },
  'end date and status': { ...UNTIL, status: 'sent' },
  bulk: { bulk_id: BULK.id },
  'bulk and status': { bulk_id: BULK.id, status: 'failed' },
  'bulk and channel': { bulk_id: BULK.id, channel: 'sms' },
  'bulk and dates': { bulk_id: BULK.id, ...UNTIL },
  // Each recipient has the same messages in both histories, so that the pages have the same size.
  'recipient, few messages': { recipient: RECIPIENTS.rare.number },
  'recipient, one page': { recipient: RECIPIENTS.few.number },
  'recipient, several pages': { recipient: RECIPIENTS.many.number },
  'recipient and status': { recipient: RECIPIENTS.many.number, status: 'failed' },
  'recipient and dates': { recipient: RECIPIENTS.many.number, ...UNTIL },
}

/** The same with a test key, which sees 2 % of the messages. */
const TEST_QUERIES: Record<string, Query> = {
  'test key': {},
  'test key, status': { status: 'failed' },
  'test key, dates': { ...SINCE, ...UNTIL },
  'test key, dates and status': { ...SINCE, ...UNTIL, status: 'delivered' },
  'test key, bulk': { bulk_id: BULK.id },
  'test key, recipient': { recipient: RECIPIENTS.many.number },
}

/**
 * The first page of `GET /messages` with a long history, as a ratio to its time with a short one; and the delay
 * of other requests while pages deep in the long one are read.
 */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  const sizes = sizesOf(quick)
  return onStage(async (stage) => {
    const start = async (name: string, total: number) => {
      const service = await startService(stage, name, { dispatch: true })
      await sendOne(service)
      await service.child.request('idle', null)
      await fillSqlite(service.database, total)
      await service.child.request('sweep', null)
      return service
    }
    const sides = { short: await start('short', SHORT), long: await start('long', sizes.long) }
    const pages = await firstPages('lists', sides, sizes)
    return [...pages, ...(await deepPages(sides.long, sizes))]
  })
}

/** The same on PostgreSQL, only first pages: its server reads in separate processes. */
export async function runPostgres({ quick }: BenchOptions): Promise<Figure[]> {
  const sizes = sizesOf(quick)
  return onStage(async (stage) => {
    const start = async (name: string, total: number) => {
      const { url } = await startPostgres({ stage })
      const service = await startService(stage, name, { dispatch: true, database_url: url })
      await sendOne(service)
      await service.child.request('idle', null)
      await fillPostgres(url, total)
      await service.child.request('sweep', null)
      return service
    }
    const sides = { short: await start('short', SHORT), long: await start('long', sizes.long) }
    return firstPages('PostgreSQL, lists', sides, sizes)
  })
}

interface Sizes {
  long: number
  rounds: number
}

function sizesOf(quick: boolean): Sizes {
  return quick ? { long: LONG / 10, rounds: 5 } : { long: LONG, rounds: 8 }
}

async function firstPages(
  name: string,
  sides: { short: Service; long: Service },
  { long, rounds }: Sizes,
): Promise<Figure[]> {
  const testing = {
    short: { ...sides.short, key: await sides.short.child.request('testKey', null) },
    long: { ...sides.long, key: await sides.long.child.request('testKey', null) },
  }
  const figures: Figure[] = []
  const queries = [
    ...Object.entries(QUERIES).map((query) => [...query, sides] as const),
    ...Object.entries(TEST_QUERIES).map((query) => [...query, testing] as const),
  ]
  for (const [of, query, viewed] of queries) {
    const path = `/api/v1/messages?${new URLSearchParams(query)}`
    const times = await inTurns(
      {
        short: () => timesOf(viewed.short, path, 10),
        long: () => timesOf(viewed.long, path, 10),
      },
      rounds,
    )
    const [short_ms, long_ms] = [median(times.short.flat()), median(times.long.flat())]
    figures.push({
      name: `${name}, ${of}`,
      value: long_ms / short_ms,
      unit: 'times',
      floor: RATIO_MAX,
      raw: `${count(long_ms)} ms with ${count(long)} messages, ${count(short_ms)} ms with ${count(SHORT)}`,
    })
  }
  return figures
}

/**
 * Pages at the end of the history, one after the other on two connections, beside requests for the first page and for
 * one message.
 */
async function deepPages(service: Service, { long, rounds }: Sizes): Promise<Figure[]> {
  const deep = `/api/v1/messages?page=${long / 50}`
  await timesOf(service, deep, 2)
  await service.child.request('delay', null)
  const ends = Array.from({ length: 2 }, () => timesOf(service, deep, rounds))
  let isReading = true
  const reading = Promise.all(ends).finally(() => {
    isReading = false
  })
  const others: number[] = []
  while (isReading) others.push(...(await timesOf(service, '/api/v1/messages/none', 5)))
  const taken = (await reading).flat()
  const delay = await service.child.request('delay', null)
  return [
    {
      name: 'lists, event loop delay while the last page is read, p99',
      value: delay.p99_ms,
      unit: 'ms',
      floor: DELAY_MAX_MS,
      raw: `max ${count(delay.max_ms)} ms; the last page p50 ${count(median(taken))} ms; other requests p50 ${count(median(others))} ms, p99 ${count(quantile(others, 0.99))} ms`,
    },
  ]
}

/** The duration of each of several requests, one after the other, in ms. */
export async function timesOf(
  { url, key }: Service,
  path: string,
  requests: number,
): Promise<number[]> {
  const connection = await openConnection(url)
  const bytes = getBytes(url, path, key)
  const times: number[] = []
  for (let i = 0; i < requests; i++) {
    const from = performance.now()
    const { status, body } = await connection.request(bytes)
    times.push(performance.now() - from)
    if (status !== 200 && status !== 404) throw new Error(`answered ${status}: ${body}`)
  }
  connection.close()
  return times
}
