import type { TablePartitions } from '../../storage/postgres/engine/partitions/state.ts'

/** Facts about an engine. */
export interface EngineFacts {
  engine: 'sqlite' | 'postgres'
  /** Whether a pooler keeps no session for a connection. */
  is_pooled?: boolean
  /** The histories with their partitions; on PostgreSQL only. */
  partitions?: TablePartitions[]
  /** The months that a command of `svc partitions` moves now, or was interrupted while it did; on PostgreSQL only. */
  moving?: { month: string; command: 'detach' | 'attach' }[]
  /** The version, such as `3.53.0` or `18.4`. */
  version: string
  /** The time of the database server; for a file, the time of this process. */
  now: Date
  /** Settings that decide whether a commit survives a power cut, and settings that explain the speed. */
  settings: Record<string, string>
  /** The size of the database on disk, without its log. */
  size_bytes: number
  /** The size of SQLite's write-ahead log; null for PostgreSQL. */
  log_bytes: number | null
}

/** The numbers of impossible rows; 0 without faults. */
export interface QueueFaults {
  /** Queued work for a missing message or delivery. */
  messages_gone: number
  deliveries_gone: number
  /** Claims that end later than any lease can end: the clock was set back, or was ahead at the claim. */
  leases_ahead: number
  /** Kinds of messages whose stored count is wrong. */
  counts_differ: number
}

/** The result of `inspectDatabase`. */
export interface DatabaseFacts extends EngineFacts {
  /** The lead of the database's clock over this process's clock; negative if behind. Excludes the query's duration. */
  clock_off_ms: number
  faults: QueueFaults
  /** The time of the last booking; a time in the future means that a clock was wrong. Null for an empty database. */
  newest_at: Date | null
}
