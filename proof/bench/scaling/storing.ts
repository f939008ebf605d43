import { setTimeout as pause } from 'node:timers/promises'
import { median } from '../figure.ts'
import type { ScratchDatabase } from './scratch.ts'

/** The tables that keep rows of a message permanently, and the two that it passes through. */
const HISTORIES = `'messages', 'message_attempts', 'message_events', 'ledger_entries', 'events', 'deliveries', 'delivery_attempts'`
const QUEUES = `'message_queue', 'delivery_queue'`

/** The database's writes so far. */
export interface Written {
  wal_bytes: number
  /** Transaction ids that were used. */
  transactions: number
  table_bytes: number
  index_bytes: number
}

export function writtenBy({ one }: ScratchDatabase): Promise<Written> {
  return one<Written>(
    `select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as wal_bytes,
            pg_snapshot_xmax(pg_current_snapshot())::text::float8 as transactions,
            sum(pg_table_size(oid))::float8 as table_bytes, sum(pg_indexes_size(oid))::float8 as index_bytes
     from pg_class where relkind = 'r' and relname in (${HISTORIES}) and relnamespace = 'public'::regnamespace`,
  )
}

/** The writes for each of `messages` messages between two moments. */
export function eachOf(messages: number, from: Written, to: Written): Written {
  const each = (of: keyof Written) => (to[of] - from[of]) / messages
  return {
    wal_bytes: each('wal_bytes'),
    transactions: each('transactions'),
    table_bytes: each('table_bytes'),
    index_bytes: each('index_bytes'),
  }
}

/** The speed of vacuum. */
export interface VacuumCost {
  /** At PostgreSQL's default pace: all of its vacuum processes together. */
  paced_ms: number
  /** The share of the updates of `messages` that changed no index. */
  hot_share: number
}

/** The cost of removing the dead rows of `messages` messages, for each message. */
export async function costOfVacuum(
  { one, pool }: ScratchDatabase,
  messages: number,
): Promise<VacuumCost> {
  // Statistics are published once a second.
  await pause(1_500)
  const { hot_share } = await one<{ hot_share: number }>(
    `select n_tup_hot_upd::float8 / greatest(1, n_tup_upd) as hot_share
     from pg_stat_user_tables where relname = 'messages'`,
  )
  await pool.query(`set vacuum_cost_delay = '2ms'`)
  await pool.query('set vacuum_cost_limit = 200')
  const { rows } = await pool.query<{ name: string }>(
    `select relname as name from pg_class
     where relkind = 'r' and relname in (${HISTORIES}, ${QUEUES}, 'credit_accounts')
       and relnamespace = 'public'::regnamespace`,
  )
  const from = performance.now()
  for (const { name } of rows) await pool.query(`vacuum ${name}`)
  return { paced_ms: (performance.now() - from) / messages, hot_share }
}

/** The median time of a commit that changes one row: two round trips and a flush, without other load. */
export async function costOfCommit({ pool }: ScratchDatabase): Promise<number> {
  await pool.query('create table flushed (n int)')
  await pool.query('insert into flushed values (0)')
  const times: number[] = []
  for (let i = 0; i < 300; i++) {
    const from = performance.now()
    await pool.query('update flushed set n = n + 1')
    times.push(performance.now() - from)
  }
  await pool.query('drop table flushed')
  return median(times)
}
