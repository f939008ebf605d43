import { enablePartitions } from '../../packages/core/src/maintenance/partitions/partitions.ts'
import { startChild } from '../stage/child.ts'
import { openWritable, type Query, queryFile } from '../stage/database.ts'
import { startPostgres } from '../stage/postgres.ts'
import { type Service, type ServiceOptions, startService } from '../stage/service.ts'
import { onStage, type Stage } from '../stage/stage.ts'
import { type BenchOptions, count, type Figure, median } from './figure.ts'
import { DEBITS, fillPostgres, fillSqlite, sendOne } from './fill.ts'
import type { LoadHandlers } from './processes/load.ts'

/** Messages of 90 days; a third of them, a month, is removed. */
const MESSAGES = 300_000
const MESSAGES_QUICK = 60_000
const KEPT_DAYS = 60

/** Messages of 90 days, of which a month is removed at once. */
const OF_MONTHS = 900_000
const OF_MONTHS_QUICK = 180_000
const DAY_MS = 86_400_000

/** Far below the limit of accepting: the figure is about waiting, not about capacity. */
const PER_S = 100
const ROUND_MS = 3_000
const ROUNDS = 4
const ROUNDS_BESIDE_MAX = 20

/** A service on a database with history, and how to look into it. */
export interface Side {
  service: Service
  query: Query
}

/**
 * The p99 of sends, until their 201, while a month of finished messages is removed, as a ratio to the same without. The rounds without
 * come before and after the removal.
 */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  return onStage((stage) =>
    measure(stage, { name: 'removal', total: totalOf(quick) }, async (total, env) => {
      const first = await startService(stage, 'first', { dispatch: true })
      await prepare(first, (file) => fillSqlite(file, total))
      const database = openWritable(first.database)
      database.exec(DEBITS)
      database.close()
      const { key } = first
      await first.stop()
      const url = `file:${first.database}`
      const service = await startAgain(stage, { key, database_url: url, env })
      return { service, query: queryFile(first.database) }
    }),
  )
}

/** The same on PostgreSQL. */
export async function runPostgres({ quick }: BenchOptions): Promise<Figure[]> {
  return onStage((stage) =>
    measure(stage, { name: 'PostgreSQL, removal', total: totalOf(quick) }, async (total, env) => {
      const { url, query } = await startPostgres({ stage })
      const first = await startService(stage, 'first', { dispatch: true, database_url: url })
      await prepare(first, () => fillPostgres(url, total))
      await query(DEBITS)
      await query('vacuum analyze ledger_entries')
      const { key } = first
      await first.stop()
      return { service: await startAgain(stage, { key, database_url: url, env }), query }
    }),
  )
}

const totalOf = (quick: boolean) => (quick ? MESSAGES_QUICK : MESSAGES)

/** The same on PostgreSQL with partitions by month, of which the oldest one is removed at once. */
export async function runMonths({ quick }: BenchOptions): Promise<Figure[]> {
  const now = new Date()
  // The first partition has 14 to 45 of the 90 days.
  const near = new Date(now.getTime() - 45 * DAY_MS)
  const monthOf = (after: number) =>
    new Date(Date.UTC(near.getUTCFullYear(), near.getUTCMonth() + after, 1))
  const kept_days = Math.floor((now.getTime() - monthOf(0).getTime()) / DAY_MS)
  const total = quick ? OF_MONTHS_QUICK : OF_MONTHS
  const what = { name: 'PostgreSQL, removal of a month', total, kept_days, isShort: true }
  return onStage((stage) =>
    measure(stage, what, async (total, env) => {
      const { url, query } = await startPostgres({ stage })
      const first = await startService(stage, 'first', { dispatch: true, database_url: url })
      await enablePartitions(url, { now: monthOf(-2), ahead: 6 })
      await prepare(first, () => fillPostgres(url, total))
      await query(DEBITS)
      await query('vacuum analyze ledger_entries')
      const { key } = first
      await first.stop()
      return { service: await startAgain(stage, { key, database_url: url, env }), query }
    }),
  )
}

async function prepare(first: Service, fill: (file: string) => Promise<void>): Promise<void> {
  await sendOne(first)
  await first.child.request('idle', null)
  await fill(first.database)
}

export function startAgain(
  stage: Stage,
  options: Omit<ServiceOptions, 'dispatch'>,
): Promise<Service> {
  return startService(stage, 'second', { dispatch: true, ...options })
}

async function measure(
  stage: Stage,
  {
    name,
    total,
    kept_days = KEPT_DAYS,
    isShort = false,
  }: {
    name: string
    total: number
    kept_days?: number
    /** Whether the removal is shorter than a round. */
    isShort?: boolean
  },
  open: (total: number, env: Record<string, string>) => Promise<Side>,
): Promise<Figure[]> {
  const load = startChild<LoadHandlers>(stage, 'bench/processes/load.ts')
  const side = await open(total, { SVC_HISTORY_DAYS: String(kept_days) })
  const numberOf = async (text: string) =>
    Number((await side.query<{ n: number | string }>(`select ${text} as n`))[0]?.n)
  const what = { rows: '(select count(*) from messages)', isShort }
  const { rounds, seconds } = await besideSweeps(load, side, what)
  const removed = await numberOf('(select sum(messages) from removed_history)')
  const kept = await numberOf(
    '(select count(*) from messages where id < (select last_id from removed_history))',
  )
  const raw = `${removed} of ${count(total)} messages in ${count(seconds)} s, ${kept} of them kept`
  return [besideFigure(name, rounds, raw)]
}

/** The p99 of sends in rounds, in milliseconds. */
export interface Rounds {
  without: number[]
  beside: number[]
}

/**
 * Sends at a steady pace while the sweeper removes rows, until no more go, and before and after it. `rows` is SQL for the number of
 * the rows.
 */
export async function besideSweeps(
  load: ReturnType<typeof startChild<LoadHandlers>>,
  { service, query }: Side,
  { rows, isShort }: { rows: string; isShort: boolean },
): Promise<{ rounds: Rounds; seconds: number }> {
  const { url, key } = service
  const round = async () => {
    return (await load.request('pace', { url, key, per_s: PER_S, ms: ROUND_MS })).p99_ms
  }
  const left = async () =>
    Number((await query<{ n: number | string }>(`select ${rows} as n`))[0]?.n)
  const rounds: Rounds = { without: [], beside: [] }
  // The sweeper of a new process begins after some time.
  await round()
  for (let i = 0; i < ROUNDS; i++) rounds.without.push(await round())
  const before = await left()
  const from = performance.now()
  let seconds = 0
  let isRemoving = true
  const removing = (async () => {
    // One sweep removes a bounded number of pages.
    for (let was = Number.POSITIVE_INFINITY, now = before; now < was; ) {
      await service.child.request('sweep', null)
      ;[was, now] = [now, await left()]
    }
    seconds = (performance.now() - from) / 1_000
  })().finally(() => {
    isRemoving = false
  })
  removing.catch(() => {})
  while (isRemoving && rounds.beside.length < ROUNDS_BESIDE_MAX) {
    const p99_ms = await round()
    // A round that the removal does not last for is none beside it.
    if (isRemoving || isShort) rounds.beside.push(p99_ms)
  }
  await removing
  for (let i = 0; i < ROUNDS; i++) rounds.without.push(await round())
  return { rounds, seconds }
}

/** The p99 of sends beside sweeps as a ratio to the same without. */
export function besideFigure(name: string, { without, beside }: Rounds, raw: string): Figure {
  return {
    name: `${name}, p99 of sends beside it against none`,
    value: median(beside) / median(without),
    unit: 'times',
    note: `${count(median(beside))} against ${count(median(without))} ms`,
    raw: `${PER_S} sends/s; ${raw}; rounds ${beside.map(count).join(' ')} ms, without ${without.map(count).join(' ')} ms`,
  }
}
