/** What an engine says about itself. */
export interface EngineFacts {
  engine: 'sqlite' | 'postgres'
  /** `3.53.0`, `18.4`. */
  version: string
  /** How the database tells the time; of a file, this process's own. */
  now: Date
  /** Settings that decide whether a commit survives a power cut, and some that explain how fast it is. */
  settings: Record<string, string>
  /** What the database takes on disk, without its log. */
  size_bytes: number
  /** Of SQLite: what waits in the write-ahead log to be written back. */
  log_bytes: number | null
}

/** Rows that cannot be, and are: each a number of rows, 0 where all is well. */
export interface QueueFaults {
  /** Due work for a message or a delivery that is not there. */
  messages_gone: number
  deliveries_gone: number
  /** Claimed for longer than any claim lasts: the clock was set back, or ran ahead when it was claimed. */
  leases_ahead: number
  /** Kinds of messages of which lists show another number than there are. */
  counts_differ: number
}

/** What `inspectDatabase` finds. */
export interface DatabaseFacts extends EngineFacts {
  /** By how much the database's clock is ahead of this one's, or behind it (below zero), beyond the time that asking took. */
  clock_off_ms: number
  faults: QueueFaults
  /** When something was last booked; later than now means that a clock was wrong. Null for an empty database. */
  newest_at: Date | null
}
