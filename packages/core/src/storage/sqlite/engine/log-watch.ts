/** Notices that SQLite does not write its log back into the database file, so that the log grows. */
export interface LogWatch {
  /** Call it after each commit, outside a transaction. */
  committed(): void
  /** The code of the error with which the file refuses the log; null without an error. */
  fault(): string | null
}

/** The result of a checkpoint that ended without an error. */
export interface Checkpoint {
  /** Whether every page of the log is in the database file. A long read, or another process, may prevent it. */
  is_complete: boolean
}

/** At most one look in this time, because a commit takes less than a millisecond on a fast disk. */
const LOOK_MS = 1_000

/**
 * A log of this size has outgrown its automatic checkpoints, which begin at 8 MiB. A single commit of an import rarely has
 * as many pages.
 */
const GROWN_BYTES = 16 * 1024 * 1024

/** The size at which a log is reported that a long read keeps, for example a backup to a slow disk. */
const HELD_BYTES = 256 * 1024 * 1024

const MIB = 1024 * 1024

/**
 * Makes an explicit checkpoint when the log has grown beyond the automatic ones. SQLite drops the error of an automatic
 * checkpoint (sqlite3WalDefaultHook), and commits succeed until the disk is full. A checkpoint that failed changes
 * nothing: the log keeps its pages, and the next checkpoint writes them again.
 */
export function createLogWatch({
  checkpoint,
  logBytes,
  log,
  now = () => performance.now(),
}: {
  /** Makes a checkpoint that waits for no other connection. @throws Error of SQLite */
  checkpoint: () => Checkpoint
  /** The size of the log file. */
  logBytes: () => number
  log?: { warn(fields: object, text: string): void } | undefined
  /** The time of a monotonic clock, in milliseconds. */
  now?: () => number
}): LogWatch {
  let looked_at = Number.NEGATIVE_INFINITY
  let bytes = 0
  let fault: string | null = null
  let isHeld = false

  function look(): void {
    const before = bytes
    bytes = logBytes()
    if (bytes <= HELD_BYTES) isHeld = false
    // A file that does not grow is used again from its start, or nothing is written.
    if (fault === null && (bytes <= GROWN_BYTES || bytes <= before)) return
    const log_mib = Math.round(bytes / MIB)
    try {
      const { is_complete } = checkpoint()
      if (fault !== null) log?.warn({ log_mib }, 'SQLite writes its log back again')
      fault = null
      if (is_complete || isHeld || bytes <= HELD_BYTES) return
      isHeld = true
      log?.warn(
        { log_mib },
        'a long read, or another process, keeps the log of SQLite from being written back',
      )
    } catch (error) {
      const { code } = error as { code?: unknown }
      const reason = typeof code === 'string' ? code : 'unknown error'
      if (reason !== fault) log?.warn({ reason, log_mib }, FAILED)
      fault = reason
    }
  }

  return {
    committed() {
      const at = now()
      if (at - looked_at < LOOK_MS) return
      looked_at = at
      look()
    },
    fault: () => fault,
  }
}

const FAILED =
  'SQLite cannot write its log back into the database file: the log grows until the disk is full'
