import { readDatabaseUrl } from '../../storage/database-url.ts'
import type { ReplicaState } from '../../storage/ports/storage.ts'
import { withSnapshot } from '../snapshot/open-snapshot.ts'
import type { DatabaseFacts, EngineFacts } from './facts.ts'
import { newestOf, queueFaults } from './queue-faults.ts'

/**
 * Inspects a database, also while a server runs: its engine, its settings, and contradictory rows. Changes nothing.
 * @throws Error in one line when the database cannot be reached, does not belong to svc, does not have this program's
 *   schema, or would lose commits.
 */
export async function inspectDatabase(
  url: string,
  { now = () => new Date() }: { now?: () => Date } = {},
): Promise<DatabaseFacts> {
  return withSnapshot(url, async (snapshot) => {
    const queried_at = now()
    const facts = await engineFacts(url)
    return {
      ...facts,
      clock_off_ms: beyond(facts.now, queried_at, now()),
      faults: await queueFaults(snapshot, now()),
      newest_at: await newestOf(snapshot),
    }
  })
}

/** The time by which a moment is after the end of a period or, below zero, before its start. */
function beyond(moment: Date, first: Date, last: Date): number {
  if (moment > last) return moment.getTime() - last.getTime()
  return Math.min(0, moment.getTime() - first.getTime())
}

/**
 * Reads all of a SQLite file and describes its damage. Returns null without damage, and for PostgreSQL, which checks
 * its own pages.
 */
export async function findDamage(url: string): Promise<string | null> {
  const named = readDatabaseUrl(url)
  if (named.engine !== 'sqlite') return null
  const { damageOf } = await import('./sqlite.ts')
  return damageOf(named.file)
}

async function engineFacts(url: string): Promise<EngineFacts> {
  const named = readDatabaseUrl(url)
  if (named.engine === 'sqlite') {
    const { sqliteFacts } = await import('./sqlite.ts')
    return sqliteFacts(named.file)
  }
  const { postgresFacts } = await import('./postgres.ts')
  return postgresFacts(named.url)
}

/**
 * Whether the traffic to the database crosses a network unencrypted: its server is on another host, and the URL (or
 * PGSSLMODE) requires no TLS. Makes no connection.
 * @throws Error for a URL that no engine can read.
 */
export async function isDatabaseExposed(url: string): Promise<boolean> {
  const named = readDatabaseUrl(url)
  if (named.engine === 'sqlite') return false
  const { isExposed } = await import('../../storage/postgres/engine/connection.ts')
  return isExposed(named.url)
}

/**
 * The state of each read replica of a PostgreSQL database, as a server that starts now finds it.
 * @throws Error when the database itself cannot be used.
 */
export async function inspectReplicas(
  url: string,
  options: { urls: readonly string[]; max_lag_ms: number },
): Promise<ReplicaState[]> {
  const { replicaStates } = await import('./postgres.ts')
  return replicaStates(url, options)
}
