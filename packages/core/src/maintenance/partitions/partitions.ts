import { readDatabaseUrl } from '../../storage/database-url.ts'
import { type AppliedStep, migrationsOf, statusOf } from '../../storage/migrations.ts'
import { MONTHS_LOCK, type Storage } from '../../storage/ports/storage.ts'
import type { PartitionOptions } from '../../storage/postgres/engine/partitions/change.ts'
import type { DetachStep } from '../../storage/postgres/engine/partitions/detach.ts'
import type { DetachedStep } from '../../storage/postgres/engine/partitions/detached.ts'
import type { TablePartitions } from '../../storage/postgres/engine/partitions/state.ts'
import type { Pool, Run } from '../../storage/postgres/engine/transaction.ts'
import { refusal } from '../refusal.ts'

/**
 * The histories of a PostgreSQL database and their partitions. Changes nothing.
 * @throws Error in one line, with a `code`: `sqlite`, and `behind` if the database does not have this program's schema.
 */
export function inspectPartitions(url: string): Promise<TablePartitions[]> {
  return onPartitions(url, async (_, run) => {
    const { partitionsOf } = await import('../../storage/postgres/engine/partitions/state.ts')
    return partitionsOf(run)
  })
}

/**
 * Partitions the histories of a PostgreSQL database by month, while servers run. A stopped call leaves a database that works, and the next
 * call goes on.
 * @throws Error as `inspectPartitions`, and when rows have times of the future.
 */
export function enablePartitions(url: string, options: PartitionOptions): Promise<void> {
  return onPartitions(url, async (pool) => {
    const engine = await import('../../storage/postgres/engine/partitions/enable.ts')
    return engine.enablePartitions(pool, options)
  })
}

/**
 * Adds the missing partitions of the next months, and gives rows of the default partition a partition of their own. Returns the names of
 * the new ones.
 * @throws Error as `inspectPartitions`, and `not_partitioned`.
 */
export function addPartitions(url: string, options: PartitionOptions): Promise<string[]> {
  return onPartitions(url, async (pool, run) => {
    const [{ addPartitions }, { partitionsOf }] = await Promise.all([
      import('../../storage/postgres/engine/partitions/months.ts'),
      import('../../storage/postgres/engine/partitions/state.ts'),
    ])
    const states = await partitionsOf(run)
    if (!states.some(({ is_partitioned }) => is_partitioned)) {
      throw refusal('not_partitioned', 'no history is partitioned yet')
    }
    return addPartitions(pool, pool, options)
  })
}

/** The months that are detached, oldest first, with the sizes of their tables. */
export interface DetachedPartitions {
  /** `2027-01`, or `first` for the time before the first month. */
  month: string
  from: Date | null
  until: Date
  /** The schema with its tables. */
  schema: string
  /** `detached`, or the step at which a command was interrupted. */
  step: DetachedStep
  at: Date
  messages: number
  bytes: number
}

/**
 * The months that are detached from the histories. Changes nothing.
 * @throws Error as `inspectPartitions`.
 */
export function inspectDetached(url: string): Promise<DetachedPartitions[]> {
  return onPartitions(url, async (_, run) => {
    const { detachedMonths } = await import('../../storage/postgres/engine/partitions/detached.ts')
    const found: DetachedPartitions[] = []
    for (const { name, from, until, schema, step, at } of await detachedMonths(run)) {
      const { rows } = await run(
        `select (select coalesce(sum(messages), 0) from ${schema}.booked)::float8 as messages,
           coalesce(sum(pg_total_relation_size(oid)), 0)::float8 as bytes
         from pg_class where relnamespace = $1::regnamespace and relkind = 'r'`,
        [schema],
      )
      const { messages, bytes } = rows[0]
      found.push({ month: name.replace('_', '-'), from, until, schema, step, at, messages, bytes })
    }
    return found
  })
}

/** The options of `detachPartitions` and `attachPartitions`. */
export interface DetachPartitionsOptions
  extends Pick<PartitionOptions, 'now' | 'log' | 'tries_max'> {
  /** Called before each transaction. */
  onStep?: ((step: DetachStep) => void) | undefined
  /** Only looks whether it can be done, and changes nothing. */
  dry_run?: boolean | undefined
}

/**
 * Takes the oldest month out of the histories while servers run, and keeps its tables in a schema of their own. `month`, such as `2027-01`
 * or `first`, must be that month; it is the default. A stopped call leaves a complete database, and the next call continues.
 * @throws Error as `inspectPartitions`, and with the code `not_found`, `not_ready`, `changed` or `interrupted` when the month cannot be detached,
 *   and `in_use` while another process detaches or attaches one.
 */
export function detachPartitions(
  url: string,
  { month, dry_run = false, ...options }: DetachPartitionsOptions & { month?: string | undefined },
): Promise<{ month: string; messages: number }> {
  return onMonths(url, async ({ pool, write }) => {
    const [{ detachable, detachMonth }, { shownMonth }] = await Promise.all([
      import('../../storage/postgres/engine/partitions/detach.ts'),
      import('../../storage/postgres/engine/partitions/detached.ts'),
    ])
    const name = month?.replace('-', '_')
    const quiet_since = new Date(options.now.getTime() - QUIET_MS)
    if (dry_run) {
      const found = await detachable(pool, { ...options, name, quiet_since })
      return { month: shownMonth(found.month), messages: found.messages }
    }
    const detached = await detachMonth(pool, { ...options, name, quiet_since, write })
    return { month: shownMonth(detached), messages: await messagesIn(pool, detached.schema) }
  })
}

/**
 * Brings the newest detached month back while servers run. A stopped call leaves a complete database, and the next call continues.
 * @throws Error as `detachPartitions`; `changed` also when a migration changed the tables since, or the ledger no longer has its entries.
 */
export function attachPartitions(
  url: string,
  { month, dry_run = false, ...options }: DetachPartitionsOptions & { month: string },
): Promise<{ month: string; messages: number }> {
  return onMonths(url, async ({ pool, write }) => {
    const { attachable, attachMonth } = await import(
      '../../storage/postgres/engine/partitions/reattach.ts'
    )
    const name = month.replace('-', '_')
    if (dry_run) return { month, messages: await attachable(pool, name) }
    const quiet_since = new Date(options.now.getTime() - QUIET_MS)
    return { month, messages: await attachMonth(pool, { ...options, name, quiet_since, write }) }
  })
}

/** After this time without a change, nothing of a month is in motion. */
const QUIET_MS = 7 * 24 * 60 * 60_000

async function messagesIn(pool: Pool, schema: string): Promise<number> {
  const { rows } = await pool.query(
    `select coalesce(sum(messages), 0)::float8 as messages from ${schema}.booked`,
  )
  return rows[0]?.messages
}

/** Runs `work` while no other process moves a month or erases a recipient. */
function onMonths<T>(
  url: string,
  work: (parts: { pool: Pool; write: Storage['write'] }) => Promise<T>,
): Promise<T> {
  return onPartitions(url, async (pool, _, other) => {
    const [{ alone, ANSWER_MAX_MS }, { openCold }, { clockOf }, { MonthRefusal }] =
      await Promise.all([
        import('../../storage/postgres/engine/connection.ts'),
        import('../../storage/postgres/engine/cold.ts'),
        import('../../storage/queueing.ts'),
        import('../../storage/postgres/engine/partitions/detach.ts'),
      ])
    const { write } = openCold(other, {
      ...{ random: Math.random, answer_max_ms: ANSWER_MAX_MS, clock: clockOf('server') },
      ...{ onLogged: () => {}, replicas: null },
    })
    const result = await alone(other, MONTHS_LOCK, async () => [
      await work({ pool, write }).catch((error) => {
        throw error instanceof MonthRefusal ? refusal(error.code, error.message) : error
      }),
    ])
    if (result) return result[0] as T
    throw refusal('in_use', 'another process erases a recipient, or detaches or attaches a month')
  })
}

async function onPartitions<T>(
  url: string,
  work: (pool: Pool, run: Run, other: Pool) => Promise<T>,
): Promise<T> {
  const named = readDatabaseUrl(url)
  if (named.engine === 'sqlite') {
    throw refusal(
      'sqlite',
      'partitions are only for PostgreSQL; on SQLite, SVC_HISTORY_DAYS removes old history, and svc compact gives its space back',
    )
  }
  // SQLite needs no driver of PostgreSQL.
  const [{ onPool }, { appliedIn }] = await Promise.all([
    import('../snapshot/postgres-sessions.ts'),
    import('../../storage/postgres/engine/migrate.ts'),
  ])
  return onPool(named.url, 'svc_partitions', async (pool, other) => {
    const run: Run = (query, values) => pool.query(query as string, values)
    const applied = (await appliedIn(run)) ?? new Map<string, AppliedStep>()
    const { pending, is_newer } = statusOf(migrationsOf('postgres'), applied)
    const isIncomplete = [...applied.values()].some((step) => step.indexes_missing.length > 0)
    if (is_newer) throw refusal('newer', 'the database was made by a newer version of svc')
    if (pending.length > 0 || isIncomplete) {
      throw refusal('behind', "the database does not have this program's schema")
    }
    return work(pool, run, other)
  })
}
