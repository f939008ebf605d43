import { readDatabaseUrl } from '../../storage/database-url.ts'
import { type AppliedStep, migrationsOf, statusOf } from '../../storage/migrations.ts'
import type { PartitionOptions } from '../../storage/postgres/engine/partitions/change.ts'
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

async function onPartitions<T>(
  url: string,
  work: (pool: Pool, run: Run) => Promise<T>,
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
  return onPool(named.url, 'svc_partitions', async (pool) => {
    const run: Run = (query, values) => pool.query(query as string, values)
    const applied = (await appliedIn(run)) ?? new Map<string, AppliedStep>()
    const { pending, is_newer } = statusOf(migrationsOf('postgres'), applied)
    const isIncomplete = [...applied.values()].some((step) => step.indexes_missing.length > 0)
    if (is_newer) throw refusal('newer', 'the database was made by a newer version of svc')
    if (pending.length > 0 || isIncomplete) {
      throw refusal('behind', "the database does not have this program's schema")
    }
    return work(pool, run)
  })
}
