import { SvcError } from '../../../contract/errors.ts'
import type { Connection } from './connection.ts'

/**
 * Work inside the writer's transaction. It is synchronous if possible, and may await only its own stores and turns of the
 * event loop.
 */
export type Job<T> = () => T | Promise<T>

export interface Writer {
  /**
   * Runs `job` in a transaction for a waiting caller, and resolves after it is on disk. If `job` throws, it changes
   * nothing.
   */
  run<T>(job: Job<T>): Promise<T>
  /** Reports that a waiting job of `run` got more items. */
  grew(): void
  /**
   * Runs a job of the dispatcher in the same way, after the callers' jobs. A caller may wait for the running job, so
   * each must be short. Of two commits in a row, at least one takes a waiting job of this kind, even with many callers.
   */
  runInBackground<T>(job: Job<T>): Promise<T>
  /** A verb of the dispatcher whose calls are jobs of `runInBackground`. */
  inBackground<Request, T>(
    verb: (request: Request) => T | Promise<T>,
  ): (request: Request) => Promise<T>
  /** A job calls this function. It runs `work` once the job is on disk, or `undo` if the job or its commit fails. */
  afterCommit(work: () => void, undo?: () => void): void
  /** Ends the work after an I/O error outside of the writer: a commit may or may not be on disk. */
  fail(cause: unknown): void
  /** Resolves when all waiting jobs have been written. */
  idle(): Promise<void>
}

/** The maximum number of callers' jobs in one commit; each may be a batch. */
const JOBS_MAX = 128

/** The maximum number of turns of the event loop for which a commit waits for more jobs. */
const TURNS_MAX = 8

/** The maximum number of waiting jobs of each kind; further jobs are refused. */
const WAITING_MAX = 10_000

/**
 * After this time a commit starts no further background job, because the commit blocks the event loop. While a backlog
 * drained, the event loop was 43 ms late at p99 with 25 ms, and 19 ms late with 12 ms.
 */
const BACKGROUND_MS = 12

/**
 * The same limit while callers come, because a caller waits for the rest of the running commit. Below the time of one job
 * (64 settlements: 3 ms), each job would pay for a flush of its own.
 */
const BACKGROUND_SHORT_MS = 3

/** Callers count as coming for this time after the last one. At ten a second, a long commit would delay every tenth. */
const COMING_MS = 1_000

/**
 * In a commit with callers, background jobs may take the time of the callers' jobs plus this multiple of the last
 * flush: with less, a slow disk would starve the dispatcher. If the last job took longer, the commit takes none and the
 * next commit takes at least one: on a fast disk an extra flush delays callers less than the job.
 */
const BACKGROUND_FLUSHES = 2

/** The queue of writes is full: the caller should try again later. */
export class WriterBusy extends SvcError {
  constructor() {
    super('rate_limit_exceeded', 'Too many requests. Please try again later.', { retry_after_s: 1 })
  }
}

interface Waiting {
  job: Job<unknown>
  resolve(value: unknown): void
  reject(error: unknown): void
}

/**
 * The only writer of a SQLite database. Waiting jobs commit together (group commit), each undone alone if it fails, and no
 * caller gets a response before the commit returned. Measured with synchronous=FULL: 280 sends a second in single
 * commits, 5,300 sends a second with 32 in each commit.
 */
export function createWriter(
  connection: Connection,
  {
    onFailure,
    onCommit = () => {},
    onError = () => {},
    elapsed = () => performance.now(),
  }: {
    onFailure: (error: Error) => void
    /** Called for each error that rolled back a job or a whole transaction. */
    onError?: ((error: unknown) => void) | undefined
    /** Called for each commit, with the number of its jobs and their duration. */
    onCommit?: ((jobs: number, duration_ms: number) => void) | undefined
    /** Milliseconds that only increase; default: those of this process. */
    elapsed?: (() => number) | undefined
  },
): Writer {
  const begin = connection.prepare('begin immediate')
  const commit = connection.prepare('commit')
  const rollback = connection.prepare('rollback')
  const save = connection.prepare('savepoint job')
  const release = connection.prepare('release job')
  const undo = connection.prepare('rollback to job')
  const callers: Waiting[] = []
  const background: Waiting[] = []
  /** The number of callers so far; a batch counts each of its callers. */
  let arrivals = 0
  let flush_ms = 0
  let called_at = Number.NEGATIVE_INFINITY
  /** The duration of the last background job. */
  let job_ms = 0
  /** Whether the last commit took no background job. */
  let wasLeftOut = false
  let running: Promise<void> | null = null
  let failure: Error | null = null
  const afterwards: { work: () => void; undo: (() => void) | undefined }[] = []

  function undoFrom(start: number): void {
    for (const { undo } of afterwards.splice(start)) undo?.()
  }

  /** Runs a job after other jobs of its transaction. */
  async function runInSavepoint(one: Waiting): Promise<() => void> {
    save.run()
    return runOne(one, {
      onSuccess: () => release.run(),
      onError() {
        undo.run()
        release.run()
      },
    })
  }

  /** Runs the first job of a transaction. It needs no savepoint, for which SQLite copies each page before its change. */
  function runFirst(one: Waiting): Promise<() => void> {
    return runOne(one, {
      onError() {
        rollback.run()
        begin.run()
      },
    })
  }

  async function runOne(
    one: Waiting,
    ends: { onSuccess?: () => void; onError: () => void },
  ): Promise<() => void> {
    const before = afterwards.length
    try {
      const pending = one.job()
      // Only asynchronous jobs are awaited: an await would let other code interrupt a synchronous batch.
      const value = pending instanceof Promise ? await pending : pending
      ends.onSuccess?.()
      return () => one.resolve(value)
    } catch (error) {
      if (!connection.inTransaction) throw error
      ends.onError()
      undoFrom(before)
      onError(error)
      return () => one.reject(error)
    }
  }

  /**
   * Waits for turns of the event loop while each turn brings more callers, so that requests that were read together are
   * written together. A single caller waits for only one turn.
   */
  async function gatherMore(): Promise<void> {
    for (let turn = 0; turn < TURNS_MAX; turn++) {
      const before = arrivals
      await nextTurn()
      if (arrivals === before) return
    }
  }

  /** How long background jobs may take in a commit whose callers took `callers_ms`. */
  function shareOf(callers_ms: number): number {
    return Math.min(callers_ms + BACKGROUND_FLUSHES * flush_ms, BACKGROUND_MS)
  }

  /** How long background jobs may take in a commit of their own: on a slow disk longer, so that flushes do not prevail. */
  function lengthAt(now: number): number {
    if (now - called_at >= COMING_MS) return BACKGROUND_MS
    return Math.min(Math.max(BACKGROUND_SHORT_MS, BACKGROUND_FLUSHES * flush_ms), BACKGROUND_MS)
  }

  function undoAll(): void {
    try {
      if (connection.inTransaction) rollback.run()
    } catch (cause) {
      fail(cause)
    }
  }

  /** After an I/O error a commit may or may not be on disk: this process can guarantee no further commit. */
  function fail(cause: unknown): void {
    failure ??= new Error('the database failed; restart the service', { cause })
    onFailure(failure)
  }

  async function commitTogether(): Promise<void> {
    const began = elapsed()
    const taken: Waiting[] = []
    const answers: (() => void)[] = []
    const take = (from: Waiting[], most: number) => {
      const some = from.splice(0, most)
      taken.push(...some)
      return some
    }
    const runAll = async (some: readonly Waiting[]) => {
      for (const one of some) {
        const run = answers.length === 0 ? runFirst : runInSavepoint
        answers.push(await run(one))
      }
    }
    const first = take(callers, JOBS_MAX)
    const isCalled = first.length > 0
    let next = isCalled ? [] : take(background, 1)
    try {
      begin.run()
      await runAll(first)
      const from = elapsed()
      const most_ms = isCalled ? shareOf(from - began) : lengthAt(began)
      if (isCalled) {
        called_at = began
        wasLeftOut = !wasLeftOut && job_ms > most_ms
        if (!wasLeftOut) next = take(background, 1)
      } else wasLeftOut = false
      // This loop does not yield to the event loop: in a turn, another connection of this process could wait for this
      // transaction.
      while (next.length > 0) {
        const at = elapsed()
        await runAll(next)
        const now = elapsed()
        job_ms = now - at
        next = now - from < most_ms ? take(background, 1) : []
      }
      const flushing = elapsed()
      commit.run()
      flush_ms = elapsed() - flushing
      for (const answer of answers) answer()
      onCommit(taken.length, elapsed() - began)
      for (const { work } of afterwards.splice(0)) work()
    } catch (error) {
      undoAll()
      undoFrom(0)
      onError(error)
      if (isIoError(error)) fail(error)
      for (const one of taken) one.reject(error)
    }
  }

  async function drain(): Promise<void> {
    while (callers.length + background.length > 0 && !failure) {
      await gatherMore()
      await commitTogether()
    }
    for (const one of [...callers.splice(0), ...background.splice(0)]) one.reject(failure)
    running = null
  }

  function enter<T>(line: Waiting[], job: Job<T>): Promise<T> {
    if (failure) return Promise.reject(failure)
    if (line.length >= WAITING_MAX) return Promise.reject(new WriterBusy())
    return new Promise<T>((resolve, reject) => {
      line.push({ job, resolve: resolve as (value: unknown) => void, reject })
      running ??= drain()
    })
  }

  return {
    run(job) {
      arrivals += 1
      return enter(callers, job)
    },
    grew() {
      arrivals += 1
    },
    runInBackground: (job) => enter(background, job),
    inBackground: (verb) => (request) => enter(background, () => verb(request)),
    afterCommit(work, undo) {
      afterwards.push({ work, undo })
    },
    fail,
    async idle() {
      while (running) await running
    },
  }
}

/** One turn of the event loop: reads the requests that have arrived. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function isIoError(error: unknown): boolean {
  return hasCode(error, /^SQLITE_(IOERR|CORRUPT)/)
}

/** Whether an error means that the file takes no writes: a full or read-only disk, an I/O error, a damaged file. */
export function refusesWrites(error: unknown): boolean {
  return hasCode(error, /^SQLITE_(FULL|READONLY|IOERR|CANTOPEN|CORRUPT|NOTADB)/)
}

function hasCode(error: unknown, pattern: RegExp): boolean {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown }
  if (typeof code === 'string' && pattern.test(code)) return true
  return cause !== undefined && hasCode(cause, pattern)
}
