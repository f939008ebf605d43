import type { LinearCost } from './verbs.ts'

/** The measurements of the run; milliseconds and bytes for each message, except where stated. */
export interface Measured {
  server_cpu_ms: number
  db_cpu_ms: number
  wal_bytes: number
  stored_bytes: number
  index_bytes: number
  vacuum_ms: number
  /** The time that a batch of one workspace locks its account, including this machine's flush. */
  hot: LinearCost
  bulk_message_ms: number
  /** This machine's flush. */
  flush_ms: number
  /** One page of a list and its total, in a history of `LIST_ROWS`. */
  list_cpu_ms: number
  /** The factor of the database's CPU with a year of monthly partitions. */
  partition_factor: number
}

/** A stage of growth and its resources. Assumed, not measured. */
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
  /** The pace of vacuum, as a multiple of a fresh installation's. */
  vacuum_pace: number
  partitioned: boolean
  /** Whether replicas serve lists. */
  replicas: boolean
  nodes: number
  /** The capacity of the nodes, in nodes, with workspaces of unequal size. */
  speedup: number
}

/** Messages a second at which each resource is used up, and the maximum history. */
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

/** Lists for each sent message. */
export const LISTS_PER_MESSAGE = 0.05
export const LIST_ROWS = 100_000

/** Connections of one server: two pools of eight, and one that listens (`storage/postgres/connection.ts`). */
export const CONNECTIONS_PER_SERVER = 17

/** Reserved for superusers by PostgreSQL, and for administrators. */
const CONNECTIONS_KEPT = 10

/** Concurrent batches of one server: two of each of three verbs, one of each claim (`postgres.ts`). */
const COMMITS_AT_ONCE = 8

/** The size of a batch under load, and the number of transactions of a message: six verbs. */
const BATCH = 64
const TRANSACTIONS = 6

/** A commit that arrives during a flush waits for the rest of it, and for the next one. */
const FLUSHES_PER_COMMIT = 1.5

/** Data in the WAL is written to the tables too, later and in pages. */
const WRITES_PER_WAL = 2

/** The maximum planned use of a resource. */
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

/** The number of servers for the connections of the database; each of several nodes has its own servers. */
function serversFor({ connections_max, nodes }: Step): number {
  return nodes * Math.floor((connections_max - CONNECTIONS_KEPT) / CONNECTIONS_PER_SERVER)
}

/** Messages a second of one workspace: its batches run one after the other, each until its commit's flush. */
export function hotLimit(measured: Measured, flush_ms: number, batch: number): number {
  const { fixed_ms, per_item_ms } = measured.hot
  const held_ms = Math.max(0, fixed_ms - measured.flush_ms) + flush_ms + per_item_ms * batch
  return (batch * 1000) / held_ms
}
