import { countedAs } from '../rules/count-changes.ts'
import type { RecordPlan } from '../rules/record.ts'
import type { SettlePlan } from '../rules/settlement.ts'
import type { Telemetry } from '../runtime/telemetry.ts'

/** Remembers the outcome of the latest writes, for the health check. */
export interface WriteWatch {
  /** Records that changes reached the disk. */
  wrote(): void
  /** Records the error of a statement; an error that does not concern the ability to write is ignored. */
  failed(error: unknown): void
  /**
   * Resolves when the latest writes reached the disk. After two seconds without a write, makes the write of `probe`;
   * simultaneous callers share this write.
   * @throws Error when the disk refused a write within the last ten seconds, or refuses the probe.
   */
  check(): Promise<void>
}

/**
 * How long a failed write counts. A nearly full disk takes small writes, such as the probe's, between large writes that
 * fail: the health must not change with each write.
 */
const FAILURE_COUNTS_MS = 10_000

/** How long a successful write counts. It limits how often the probe writes when the health is checked often. */
const SUCCESS_COUNTS_MS = 2_000

export function createWriteWatch({
  refuses,
  probe,
  now = () => performance.now(),
}: {
  /** Whether an error means that the database takes no writes: a full or read-only disk, an I/O error. */
  refuses: (error: unknown) => boolean
  /** One small write that reaches the disk. */
  probe: () => Promise<void>
  /** The time of a monotonic clock, in milliseconds. */
  now?: () => number
}): WriteWatch {
  let wrote_at = Number.NEGATIVE_INFINITY
  let failed_at = Number.NEGATIVE_INFINITY
  let probing: Promise<void> | null = null

  function wrote(): void {
    wrote_at = now()
  }

  function failed(error: unknown): void {
    if (refuses(error)) failed_at = now()
  }

  async function probeOnce(): Promise<void> {
    try {
      await probe()
      wrote()
    } finally {
      probing = null
    }
  }

  return {
    wrote,
    failed,
    async check() {
      // The original error is left out, because it may quote values.
      if (now() - failed_at < FAILURE_COUNTS_MS) throw new Error('the disk refused a write')
      if (now() - wrote_at < SUCCESS_COUNTS_MS) return
      probing ??= probeOnce()
      await probing
    },
  }
}

/** Functions that are called when something happened. */
interface Listeners {
  /** Adds a listener; returns a function that removes it. */
  add(listener: () => void): () => void
  /** Calls each listener. */
  call(): void
}

export function createListeners(): Listeners {
  const listeners = new Set<() => void>()
  return {
    add(listener) {
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
      }
    },
    call() {
      for (const listener of listeners) listener()
    },
  }
}

/** Reports commits; undefined without telemetry. */
export function reportCommitted(telemetry: Telemetry | undefined) {
  return telemetry && ((jobs: number, ms: number) => telemetry.committed(jobs, ms))
}

/** Notes each commit of a SQLite file: for the metrics, for the health check, and for the size of the file's log. */
export function noteCommits({
  telemetry,
  totalChanges,
  writes,
  logFile,
}: {
  telemetry: Telemetry | undefined
  /** The statement that counts the changes of the connection since it was opened. */
  totalChanges: { get(): unknown }
  writes: Pick<WriteWatch, 'wrote'>
  logFile: Pick<LogWatch, 'committed'>
}): (jobs: number, duration_ms: number) => void {
  let changes: unknown = 0
  return (jobs, duration_ms) => {
    telemetry?.committed(jobs, duration_ms)
    // A commit without changes, such as the commit of an empty claim, writes nothing.
    const before = changes
    changes = totalChanges.get()
    if (changes !== before) writes.wrote()
    logFile.committed()
  }
}

/** Reports settlements, once they are on disk. */
export function reportSettled(telemetry: Telemetry, plan: SettlePlan): void {
  for (const { channel, status } of plan.reached) telemetry.reached(channel, status, 1)
  // A person asked for these refunds, so that they show no fault.
  const canceled = new Set(
    plan.messages.filter((one) => countedAs(one) === 'canceled').map(({ id }) => id),
  )
  for (const { kind, amount, ref_id } of plan.entries) {
    if (kind === 'refund' && !canceled.has(ref_id)) telemetry.refunded(amount)
  }
}

/** Reports ended deliveries, once they are on disk. */
export function reportRecorded(telemetry: Telemetry, { deliveries }: RecordPlan): void {
  for (const { status, next_attempt_at } of deliveries) {
    const hasEnded = next_attempt_at === null && (status === 'delivered' || status === 'failed')
    if (hasEnded) telemetry.deliveryEnded(status)
  }
}

/** Notices that SQLite does not write its log back into the database file, so that the log grows. */
interface LogWatch {
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

/** The write-back of the log by another thread. */
export interface WriteBack {
  /** The number of pages in the log that are not in the database file yet. */
  waiting(): number
  /** Makes a checkpoint that waits for no other connection. @throws Error if the thread cannot make it */
  run(): Promise<unknown>
}

/** The other thread begins at this number of waiting pages, as an automatic checkpoint does. */
const BEHIND_PAGES = 2_000

/**
 * After a write-back by the other thread, at most this number of pages is written by this thread, so that the log is complete
 * and SQLite begins it anew. It takes about 2 ms.
 */
const REST_PAGES = 500

/** A write-back that takes longer, for example behind long queries, is made by this thread if the log grows. */
const BEHIND_MAX_MS = 5_000

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
 * Makes an explicit checkpoint when the log has grown beyond the automatic ones, or beyond those of another thread. SQLite
 * drops the error of an automatic checkpoint (sqlite3WalDefaultHook), and commits succeed until the disk is full. A
 * checkpoint that failed changes nothing: the log keeps its pages, and the next checkpoint writes them again.
 */
export function createLogWatch({
  checkpoint,
  logBytes,
  behind = null,
  log,
  now = () => performance.now(),
}: {
  /** Makes a checkpoint that waits for no other connection. @throws Error of SQLite */
  checkpoint: () => Checkpoint
  /** The size of the log file. */
  logBytes: () => number
  /** The write-back by another thread; null if SQLite makes automatic checkpoints. */
  behind?: WriteBack | null
  log?: { warn(fields: object, text: string): void } | undefined
  /** The time of a monotonic clock, in milliseconds. */
  now?: () => number
}): LogWatch {
  let looked_at = Number.NEGATIVE_INFINITY
  let bytes = 0
  let fault: string | null = null
  let isHeld = false
  let began_at: number | null = null
  let ended: 'done' | 'failed' | null = null

  function look(at: number): void {
    const before = bytes
    bytes = logBytes()
    if (bytes <= HELD_BYTES) isHeld = false
    if (fault === null) {
      // A file that does not grow is used again from its start, or nothing is written.
      if (bytes <= GROWN_BYTES || bytes <= before) return
      if (began_at !== null && at - began_at < BEHIND_MAX_MS) return
    }
    writeBack()
  }

  function writeBack(): void {
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

  /** Lets the other thread write back the log, and completes what it has written. */
  function writeBehind(other: WriteBack, at: number): void {
    if (began_at !== null) return
    const waiting = other.waiting()
    const isHere = ended === 'failed' || (ended === 'done' && waiting <= REST_PAGES)
    ended = null
    if (isHere) writeBack()
    if (isHere || waiting < BEHIND_PAGES) return
    began_at = at
    other
      .run()
      .then(
        () => 'done' as const,
        () => 'failed' as const,
      )
      .then((how) => {
        began_at = null
        ended = how
      })
  }

  return {
    committed() {
      const at = now()
      if (behind) writeBehind(behind, at)
      if (at - looked_at < LOOK_MS) return
      looked_at = at
      look(at)
    },
    fault: () => fault,
  }
}

const FAILED =
  'SQLite cannot write its log back into the database file: the log grows until the disk is full'
