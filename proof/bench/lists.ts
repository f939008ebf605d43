import { startPostgres } from '../../packages/core/test/postgres-server.ts'
import { openConnection, requestBytes } from '../stage/connection.ts'
import { inFolder, type Service, startService } from '../stage/service.ts'
import { type BenchOptions, count, type Figure, median, quantile } from './figure.ts'
import { BULK, fillPostgres, fillSqlite, RECIPIENTS } from './fill.ts'

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
  // Each recipient has the same messages in both histories, so that the pages have the same size. No index has the
  // recipient: docs/operating/scaling.md has the reason.
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
  const long = quick ? LONG / 10 : LONG
  const rounds = quick ? 5 : 8
  return inFolder(async (folder) => {
    const services: Service[] = []
    const start = async (name: string, total: number) => {
      const service = await startService(folder, name, { dispatch: false })
      services.push(service)
      await sendOne(service)
      await fillSqlite(service.database, total)
      return service
    }
    try {
      const sides = { short: await start('short', SHORT), long: await start('long', long) }
      const pages = await firstPages('lists', sides, { long, rounds })
      return [...pages, ...(await deepPages(sides.long, { long, rounds }))]
    } finally {
      await Promise.all(services.map(({ child }) => child.end()))
    }
  })
}

/** The same on PostgreSQL, only first pages: its server reads in separate processes. */
export async function runPostgres({ quick }: BenchOptions): Promise<Figure[]> {
  const long = quick ? LONG / 10 : LONG
  return inFolder(async (folder) => {
    const servers = [await startPostgres(), await startPostgres()]
    const services: Service[] = []
    const start = async (name: string, total: number, url: string) => {
      const service = await startService(folder, name, { dispatch: false, database_url: url })
      services.push(service)
      await sendOne(service)
      await fillPostgres(url, total)
      return service
    }
    try {
      const [short, other] = servers.map(({ url }) => url)
      const sides = {
        short: await start('short', SHORT, short ?? ''),
        long: await start('long', long, other ?? ''),
      }
      return await firstPages('PostgreSQL, lists', sides, { long, rounds: quick ? 5 : 8 })
    } finally {
      await Promise.all(services.map(({ child }) => child.end()))
      await Promise.all(servers.map((server) => server.stop()))
    }
  })
}

interface Sizes {
  long: number
  rounds: number
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
    const times = { short: [] as number[], long: [] as number[] }
    // In turns, so that other work on the machine affects both.
    for (let round = 0; round < rounds + 1; round++) {
      for (const side of ['short', 'long'] as const) {
        const taken = await timesOf(viewed[side], path, 10)
        // The first round warms up.
        if (round > 0) times[side].push(...taken)
      }
    }
    const [short_ms, long_ms] = [median(times.short), median(times.long)]
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

async function sendOne({ url, key }: Service): Promise<void> {
  const connection = await openConnection(url)
  const { status, body } = await connection.request(
    requestBytes(url, {
      method: 'POST',
      path: '/api/v1/messages/send',
      headers: { 'X-API-Key': key },
      body: { to: '+15005550006', channel: 'sms', content: { text: 'Your order A1 is ready' } },
    }),
  )
  connection.close()
  if (status !== 201) throw new Error(`answered ${status}: ${body}`)
}

/** The duration of each of several requests, one after the other, in ms. */
async function timesOf({ url, key }: Service, path: string, requests: number): Promise<number[]> {
  const connection = await openConnection(url)
  const bytes = requestBytes(url, { method: 'GET', path, headers: { 'X-API-Key': key } })
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
