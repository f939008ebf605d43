import type { ApiKeyRow } from '../../../rows/rows.ts'
import type { Tables } from '../../../rows/tables.ts'

import type { Counter, Counting, HotVerbs } from '../../ports/hot.ts'
import type { Clock } from '../../queueing.ts'
import { type Database, statement } from '../engine/database.ts'
import { namesOf, present } from '../engine/rows.ts'

/** The hash of a key to find, or an access to a counter. */
type Question = string | Counting

/**
 * The verbs `findApiKey` and `count` on PostgreSQL: both questions of all simultaneous requests travel together. The
 * results are in the order of the questions.
 */
export function prepareAdmission(database: Database, t: Tables, clock: Clock) {
  const findKeys = statement<ApiKeyRow>(
    'find_api_keys',
    `select ${namesOf(t.api_keys).join(', ')} from api_keys where key_hash = any($1::text[])`,
  )
  return async (questions: readonly Question[]): Promise<(ApiKeyRow | Counter | null)[]> => {
    const hashes = new Set(questions.filter((question) => typeof question === 'string'))
    const countings = questions.filter((question) => typeof question !== 'string')
    const counting = countings.length > 0 ? countingOf(countings, clock) : null
    const found = await database.together(
      ...(hashes.size > 0 ? [[findKeys, [...hashes]] as const] : []),
      ...(counting ? [counting.statement] : []),
    )
    const keys = hashes.size > 0 ? (found.shift() as ApiKeyRow[]) : []
    const byHash = new Map(keys.map((key) => [key.key_hash, key]))
    const counters = (counting?.results(found[0] as Found[]) ?? []).values()
    return questions.map((question) =>
      typeof question === 'string'
        ? (byHash.get(question) ?? null)
        : (counters.next().value as Counter),
    )
  }
}

/** The counter of a key after a statement. */
interface Found extends Counter {
  key: string
}

/**
 * Another server's statement may have begun the window while this statement waited for the row. A window that ends
 * later than a new window by more than this was written while the database's clock was ahead: it starts again.
 */
const LATER_MAX = `interval '30 seconds'`

/** SQL: whether the window of a counter is running, where a new window would end at `ends_at`. */
const isRunning = (ends_at: string) =>
  `(c.ends_at > ${present('$4')} and c.ends_at <= ${ends_at} + ${LATER_MAX})`
const begunNow = `${present('$4')} + a.window_ms * interval '1 millisecond'`
const endsInMs = `(extract(epoch from c.ends_at - ${present('$4')}) * 1000)::float8 as ends_in_ms`

/**
 * Rows are locked in the order of their keys, which prevents deadlocks between servers. After a wait for a row, its
 * window may have begun after this statement began. The statement then counts in that window.
 */
const count = statement<Found>(
  'count',
  `with requested as (
     select * from unnest($1::text[], $2::int[], $3::float8[]) r(key, added, window_ms)
   ), counted as (
     insert into rate_counters as c (key, count, ends_at)
     select key, added, ${present('$4')} + window_ms * interval '1 millisecond'
     from requested where added > 0 order by key
     on conflict (key) do update
     set count = case when ${isRunning('excluded.ends_at')} then c.count else 0 end + excluded.count,
         ends_at = case when ${isRunning('excluded.ends_at')} then c.ends_at else excluded.ends_at end
     returning c.key, c.count, c.ends_at
   )
   select c.key, c.count, ${endsInMs} from counted c
   union all
   select c.key, c.count, ${endsInMs} from requested a join rate_counters c using (key)
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

/** The sum of a batch for one key. */
interface Sum {
  added: number
  window_ms: number
}

/**
 * The statement of the verb `count` for a batch, with each key once, and the results, which are divided among the callers.
 * After a lost connection the statement runs again, so it may count twice.
 */
function countingOf(countings: readonly Counting[], clock: Clock) {
  const sums = sumsOf(countings)
  return {
    statement: [
      count,
      [...sums.keys()],
      [...sums.values()].map(({ added }) => added),
      [...sums.values()].map(({ window_ms }) => window_ms),
      clock.now(latestOf(countings)),
    ] as [typeof count, ...unknown[]],
    results: (found: readonly Found[]): Counter[] =>
      dealOut(countings, sums, new Map(found.map((counter) => [counter.key, counter]))),
  }
}

/** Removes counters whose window ended; skips counters that are being changed. */
export function prepareSweepCounters(
  database: Database,
  clock: Clock,
): NonNullable<HotVerbs['sweepCounters']> {
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

/** The count for each caller: the count before the batch, and the additions of the batch up to this caller. */
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
    // A window that began while the statement waited ends a little later than a window that begins now.
    return { count: mine, ends_in_ms: Math.min(counter?.ends_in_ms ?? window_ms, window_ms) }
  })
}
