import type { ReplicaState } from '../../storage/ports/storage.ts'
import { ANSWER_MAX_MS, connect } from '../../storage/postgres/engine/connection.ts'
import {
  detachedMonths,
  shownMonth,
  unfinishedCommand,
} from '../../storage/postgres/engine/partitions/detached.ts'
import { partitionsOf } from '../../storage/postgres/engine/partitions/state.ts'
import { createReplicas } from '../../storage/postgres/engine/replicas.ts'
import { eachAlone, inTime, type Run } from '../../storage/postgres/engine/transaction.ts'
import { onPool, silent } from '../snapshot/postgres-sessions.ts'
import type { EngineFacts } from './facts.ts'

const SETTINGS = [
  'fsync',
  'full_page_writes',
  'data_sync_retry',
  'synchronous_standby_names',
  'synchronous_commit',
  'data_checksums',
  'wal_level',
  'archive_mode',
  'max_connections',
  'autovacuum',
]

/** Facts about a PostgreSQL server and this database; `synchronous_commit` is the setting of the service's sessions. */
export function postgresFacts(url: string): Promise<EngineFacts> {
  return onPool(url, 'svc_doctor', async (pool) => {
    const run: Run = (query, values) => pool.query(query as string, values)
    const { rows } = await pool.query<{
      version: string
      now: Date
      size_bytes: string
      settings: Record<string, string>
    }>(
      `select current_setting('server_version') as version, clock_timestamp() as now,
         pg_database_size(current_database())::text as size_bytes,
         (select json_object_agg(name, current_setting(name)) from unnest($1::text[]) name) as settings`,
      [SETTINGS],
    )
    const [row] = rows
    if (!row) throw new Error('a row of settings that was not there')
    const { version, now, settings } = row
    return {
      engine: 'postgres',
      version: version.split(' ')[0] ?? version,
      now: new Date(now),
      settings: typeof settings === 'string' ? JSON.parse(settings) : settings,
      size_bytes: Number(row.size_bytes),
      log_bytes: null,
      ...(pool.begin && { is_pooled: true }),
      partitions: await partitionsOf(run),
      moving: (await detachedMonths(run)).flatMap((month) => {
        const command = unfinishedCommand(month)
        return command ? [{ month: shownMonth(month), command }] : []
      }),
    }
  })
}

/** The state of each replica of a PostgreSQL database, as a server that starts now finds it. */
export async function replicaStates(
  url: string,
  { urls, max_lag_ms }: { urls: readonly string[]; max_lag_ms: number },
): Promise<ReplicaState[]> {
  const connections = await connect(url, { log: silent, replica_urls: urls })
  const { slow, replicas: places } = connections
  try {
    const replicas = createReplicas({
      primary: (text) =>
        inTime(slow, eachAlone, (run) => run(text), performance.now() + ANSWER_MAX_MS),
      places,
      max_lag_ms,
      read_max_ms: ANSWER_MAX_MS,
      log: silent,
    })
    await replicas.examine()
    return replicas.states()
  } finally {
    await connections.end()
  }
}
