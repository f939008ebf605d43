import { launchChromium, type Page } from '../../packages/server/test/browser/chromium.ts'
import { startPostgres } from '../stage/postgres.ts'
import { type Service, startService } from '../stage/service.ts'
import { onStage, type Stage } from '../stage/stage.ts'
import { type BenchOptions, count, type Figure, median } from './figure.ts'
import { fillPostgres, fillSqlite, sendOne } from './fill.ts'
import { inTurns } from './rounds.ts'

const SHORT = 1_000
const LONG = 1_000_000

/** The list of a long history appears at most this much later than that of a short one. */
const RATIO_MAX = 1.5

/** The server answers other requests during a search. */
const DELAY_MAX_MS = 50

const NAME = 'console-list'
const ORIGIN = { 'sec-fetch-site': 'same-origin' }

/** Notes when the first row of the list is painted. */
const WATCH = `(() => {
  const look = () => document.querySelector('tbody tr')
    ? requestAnimationFrame(() => { window.listPainted_ms = performance.now() })
    : requestAnimationFrame(look)
  requestAnimationFrame(look)
})()`

/** Resolves to the time that `WATCH` noted. */
const PAINTED = `new Promise((resolve) => {
  const look = () => window.listPainted_ms
    ? resolve(window.listPainted_ms)
    : requestAnimationFrame(look)
  look()
})`

/**
 * The time from the navigation to the first painted row of the console's list of messages, with a long history as a ratio to
 * its time with a short one, in a real Chromium with the files of the console in its cache; and the delay of other requests
 * while a search reads its maximum.
 */
export async function run(options: BenchOptions): Promise<Figure[]> {
  return measure(NAME, options, async () => {
    return { fill: ({ database }, total) => fillSqlite(database, total) }
  })
}

/** The same on PostgreSQL. */
export async function runPostgres(options: BenchOptions): Promise<Figure[]> {
  return measure(`PostgreSQL, ${NAME}`, options, async (stage) => {
    const { url } = await startPostgres({ stage })
    return { database_url: url, fill: (_, total) => fillPostgres(url, total) }
  })
}

/** The database of one side: its URL, if it is no new SQLite file, and how it is filled. */
interface Database {
  database_url?: string
  fill(service: Service, total: number): Promise<void>
}

async function measure(
  name: string,
  { quick }: BenchOptions,
  openDatabase: (stage: Stage) => Promise<Database>,
): Promise<Figure[]> {
  const long = quick ? LONG / 10 : LONG
  const browser = await launchChromium()
  if (!browser) {
    const missing = 'no Chromium is installed'
    return [{ name: `${name}, first paint`, value: Number.NaN, unit: 'times', missing }]
  }
  return onStage(async (stage) => {
    stage.atEnd(() => browser.close())
    const start = async (side: string, total: number) => {
      const { fill, ...database } = await openDatabase(stage)
      const service = await startService(stage, side, { dispatch: true, ...database })
      await sendOne(service)
      await service.child.request('idle', null)
      await fill(service, total)
      const page = await browser.newPage()
      await page.addInitScript(WATCH)
      const data = { email: 'bench@example.com', password: 'a password without a user' }
      const session = `${service.url}/console/api/session`
      const answer = await page.request.post(session, { headers: ORIGIN, data })
      if (!answer.ok()) throw new Error(await answer.text())
      return { page, service }
    }
    const sides = { short: await start('short', SHORT), long: await start('long', long) }
    const painted = (side: keyof typeof sides) => () =>
      paintedAfter(sides[side].page, `${sides[side].service.url}/console/messages`)
    // The first round fills the caches.
    const times = await inTurns({ short: painted('short'), long: painted('long') }, quick ? 6 : 20)
    const [short_ms, long_ms] = [median(times.short), median(times.long)]
    return [
      {
        name: `${name}, first paint`,
        value: long_ms / short_ms,
        unit: 'times',
        floor: RATIO_MAX,
        raw: `${count(long_ms)} ms with ${count(long)} messages, ${count(short_ms)} ms with ${count(SHORT)}`,
      },
      await searchDelay(name, sides.long),
    ]
  })
}

async function paintedAfter(page: Page, url: string): Promise<number> {
  await page.goto(url)
  return Number(await page.evaluate(PAINTED))
}

/** Searches for a text that no message has, until the end of the history. */
async function searchDelay(
  name: string,
  { page, service }: { page: Page; service: Service },
): Promise<Figure> {
  await service.child.request('delay', null)
  const taken: number[] = []
  let after = ''
  do {
    const from = performance.now()
    const url = `${service.url}/console/api/messages?search=unknown+text${after}`
    const answer = await page.request.get(url, { headers: ORIGIN })
    taken.push(performance.now() - from)
    const { data } = await answer.json()
    after = data.next_after === null ? '' : `&after=${data.next_after}`
  } while (after !== '')
  const { p99_ms, max_ms } = await service.child.request('delay', null)
  return {
    name: `${name}, event loop delay during a search, p99`,
    value: p99_ms,
    unit: 'ms',
    floor: DELAY_MAX_MS,
    raw: `max ${count(max_ms)} ms; ${taken.length} requests, each p50 ${count(median(taken))} ms`,
  }
}
