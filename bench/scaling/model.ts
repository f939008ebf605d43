import type { LinearCost } from './verbs.ts'

/** What the run measured; milliseconds and bytes for each message where nothing else is said. */
export interface Measured {
  server_cpu_ms: number
  db_cpu_ms: number
  wal_bytes: number
  stored_bytes: number
  index_bytes: number
  vacuum_ms: number
  /** How long a batch of one workspace keeps its account locked, this machine's flush included. */
  hot: LinearCost
  bulk_message_ms: number
  /** This machine's flush. */
  flush_ms: number
  /** One page of a list and its total, in a history of `LIST_ROWS`. */
  list_cpu_ms: number
  /** How much more of its CPU the database needs with a year of monthly partitions. */
  partition_factor: number
}

/** A stage of growth: what there is of everything. Assumed, not measured. */
export interface Step {
  name: string
  servers: number
  connections_max: number
  /** Of each database node. */
  db_cores: number
  ram_gb: number
  disk_gb: number
  disk_mb_s: number
  flush_ms: number
  /** How many times the pace of a fresh installation vacuum is allowed. */
  vacuum_pace: number
  partitioned: boolean
  /** Whether lists are asked of replicas. */
  replicas: boolean
  nodes: number
  /** How many nodes' worth of work those nodes do, with workspaces of unequal size. */
  speedup: number
}

/** Messages a second at which each resource is used up, and how much history fits. */
export interface Limits {
  per_s: Record<Resource, number>
  first: Resource
  /** Messages that fit on disk, and whose indexes fit in memory. */
  on_disk: number
  in_ram: number
}

export type Resource =
  | 'server CPU'
  | 'database CPU'
  | 'WAL volume'
  | 'flushes'
  | 'vacuum'
  | 'connections'

/** Lists asked for each message sent. */
export const LISTS_PER_MESSAGE = 0.05
export const LIST_ROWS = 100_000

/** Connections of one server: two pools of eight, and one that listens (`storage/postgres/connection.ts`). */
export const CONNECTIONS_PER_SERVER = 17

/** Reserved for superusers by PostgreSQL, and kept for whoever looks after it. */
const CONNECTIONS_KEPT = 10

/** Batches of one server that may be committing: two of each of three verbs, one of each claim (`postgres.ts`). */
const COMMITS_AT_ONCE = 8

/** What a batch holds under load, and how many transactions a message passes: six verbs. */
const BATCH = 64
const TRANSACTIONS = 6

/** A commit that arrives while the disk is flushing waits for the rest of that flush, and for the next. */
const FLUSHES_PER_COMMIT = 1.5

/** What is written to the WAL is written to the tables too, later and in pages. */
const WRITES_PER_WAL = 2

/** No resource is planned to be used further. */
const USABLE = 0.7

const GB = 1e9

/** The analytic model: each resource as if it were alone. */
export function limitsOf(step: Step, measured: Measured): Limits {
  const spread = step.nodes === 1 ? 1 : step.speedup
  const servers = Math.min(step.servers, serversFor(step))
  const db_ms =
    measured.db_cpu_ms * (step.partitioned ? measured.partition_factor : 1) +
    (step.replicas ? 0 : LISTS_PER_MESSAGE * measured.list_cpu_ms)
  const commit_ms = FLUSHES_PER_COMMIT * step.flush_ms
  const per_s: Record<Resource, number> = {
    'server CPU': (USABLE * servers * 1000) / measured.server_cpu_ms,
    connections: (USABLE * serversFor(step) * 1000) / measured.server_cpu_ms,
    'database CPU': (USABLE * spread * step.db_cores * 1000) / db_ms,
    'WAL volume': (USABLE * spread * step.disk_mb_s * 1e6) / (WRITES_PER_WAL * measured.wal_bytes),
    flushes: (spread * COMMITS_AT_ONCE * servers * BATCH * 1000) / (commit_ms * TRANSACTIONS),
    vacuum: (USABLE * spread * step.vacuum_pace * 1000) / measured.vacuum_ms,
  }
  const names = Object.keys(per_s) as Resource[]
  const first = names.reduce((least, name) => (per_s[name] < per_s[least] ? name : least))
  return {
    per_s,
    first,
    on_disk: (USABLE * spread * step.disk_gb * GB) / measured.stored_bytes,
    in_ram: (USABLE * spread * step.ram_gb * GB) / measured.index_bytes,
  }
}

/** How many servers the connections of the database allow; each node of several has servers of its own. */
function serversFor({ connections_max, nodes }: Step): number {
  return nodes * Math.floor((connections_max - CONNECTIONS_KEPT) / CONNECTIONS_PER_SERVER)
}

/** Messages a second of one workspace: batches of it follow each other, each behind its commit's flush. */
export function hotLimit(measured: Measured, flush_ms: number, batch: number): number {
  const { fixed_ms, per_item_ms } = measured.hot
  const held_ms = Math.max(0, fixed_ms - measured.flush_ms) + flush_ms + per_item_ms * batch
  return (batch * 1000) / held_ms
}
