/** Facts about an engine. */
export interface EngineFacts {
  engine: 'sqlite' | 'postgres'
  /** `3.53.0`, `18.4`. */
  version: string
  /** The time of the database; for a file, that of this process. */
  now: Date
  /** Settings that decide whether a commit survives a power cut, and some that explain its speed. */
  settings: Record<string, string>
  /** The size of the database on disk, without its log. */
  size_bytes: number
  /** SQLite: the size of the write-ahead log that is not written back yet. */
  log_bytes: number | null
}

/** Impossible rows: each field is a number of rows, 0 without faults. */
export interface QueueFaults {
  /** Due work for a missing message or delivery. */
  messages_gone: number
  deliveries_gone: number
  /** Claimed for longer than any lease lasts: the clock was set back, or was ahead at the claim. */
  leases_ahead: number
  /** Kinds of messages whose stored count is wrong. */
  counts_differ: number
}

/** The result of `inspectDatabase`. */
export interface DatabaseFacts extends EngineFacts {
  /**
   * How far the database's clock is ahead of this one's, or behind it (below zero), beyond the duration of the query.
   */
  clock_off_ms: number
  faults: QueueFaults
  /** The time of the last booking; later than now means that a clock was wrong. Null for an empty database. */
  newest_at: Date | null
}
