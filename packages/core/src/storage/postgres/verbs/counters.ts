import type { Counter, Counting, HotDoor } from '../../ports/hot.ts'
import { type Clock, present } from '../engine/clock.ts'
import { type Database, statement } from '../engine/database.ts'

/** The counter of a key as a statement left it. */
interface Found extends Counter {
  key: string
}

/**
 * A window may have begun in another server's statement while this one waited for the row. One that ends later than this
 * after a new one would was written while the database's clock was ahead: it is begun anew.
 */
const LATER_MAX = `interval '30 seconds'`

/** SQL: whether a counter's window runs, where a new one would end at `ends_at`. */
const isRunning = (ends_at: string) =>
  `(c.ends_at > ${present('$4')} and c.ends_at <= ${ends_at} + ${LATER_MAX})`
const begunNow = `${present('$4')} + a.window_ms * interval '1 millisecond'`
const endsInMs = `(extract(epoch from c.ends_at - ${present('$4')}) * 1000)::float8 as ends_in_ms`

/**
 * Rows are locked in the order of their keys, so that no two servers wait for each other. Whoever waits for a row may
 * find there a window that began after his own present: he counts in it.
 */
const count = statement<Found>(
  'count',
  `with asked as (
     select * from unnest($1::text[], $2::int[], $3::float8[]) r(key, added, window_ms)
   ), counted as (
     insert into rate_counters as c (key, count, ends_at)
     select key, added, ${present('$4')} + window_ms * interval '1 millisecond'
     from asked where added > 0 order by key
     on conflict (key) do update
     set count = case when ${isRunning('excluded.ends_at')} then c.count else 0 end + excluded.count,
         ends_at = case when ${isRunning('excluded.ends_at')} then c.ends_at else excluded.ends_at end
     returning c.key, c.count, c.ends_at
   )
   select c.key, c.count, ${endsInMs} from counted c
   union all
   select c.key, c.count, ${endsInMs} from asked a join rate_counters c using (key)
   where a.added = 0 and ${isRunning(begunNow)}`,
)

const sweep = statement<{ n: number }>(
  'sweep_counters',
  `with ended as materialized (
     select key from rate_counters where ends_at <= ${present('$1')}
     order by ends_at limit $2 for update skip locked
   ), gone as (
     delete from rate_counters c using ended e where c.key = e.key returning 1
   )
   select count(*)::int as n from gone`,
)

/** What a batch asks of one key. */
interface Sum {
  added: number
  window_ms: number
}

/**
 * The verb `count` on PostgreSQL: one statement for a batch, in which each key stands once. What came back of a key is
 * then dealt out to those who asked. A connection lost on the way makes it count again: rather once too often.
 */
export function prepareCount(database: Database, clock: Clock) {
  return async (countings: readonly Counting[]): Promise<Counter[]> => {
    const sums = sumsOf(countings)
    const found = await database.rows(
      count,
      [...sums.keys()],
      [...sums.values()].map(({ added }) => added),
      [...sums.values()].map(({ window_ms }) => window_ms),
      clock.now(latestOf(countings)),
    )
    return dealOut(countings, sums, new Map(found.map((counter) => [counter.key, counter])))
  }
}

/** The removal of counters that ended; whatever is being counted in at the moment is left alone. */
export function prepareSweepCounters(
  database: Database,
  clock: Clock,
): NonNullable<HotDoor['sweepCounters']> {
  return async (now, limit) => (await database.rows(sweep, clock.now(now), limit))[0]?.n ?? 0
}

function sumsOf(countings: readonly Counting[]): Map<string, Sum> {
  const sums = new Map<string, Sum>()
  for (const { key, add, window_ms } of countings) {
    const sum = sums.get(key)
    if (sum) sum.added += add
    else sums.set(key, { added: add, window_ms })
  }
  return sums
}

function latestOf(countings: readonly Counting[]): Date {
  return new Date(Math.max(...countings.map(({ now }) => now.getTime())))
}

/** Each caller's own number: what was there before the batch, and what it and those before it in the batch added. */
function dealOut(
  countings: readonly Counting[],
  sums: ReadonlyMap<string, Sum>,
  found: ReadonlyMap<string, Found>,
): Counter[] {
  const counts = new Map<string, number>()
  return countings.map(({ key, add, window_ms }) => {
    const counter = found.get(key)
    const before = (counter?.count ?? 0) - (sums.get(key)?.added ?? 0)
    const mine = (counts.get(key) ?? before) + add
    counts.set(key, mine)
    // Where a window began while the statement waited, it ends a little later than one that begins now.
    return { count: mine, ends_in_ms: Math.min(counter?.ends_in_ms ?? window_ms, window_ms) }
  })
}
