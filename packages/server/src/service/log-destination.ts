import { write as writeAsync, writeSync } from 'node:fs'

/** Where log lines go. Writing to it never waits and never throws. */
export interface LogDestination {
  /** Takes a line with its newline; one that cannot be kept is dropped and counted. */
  write(line: string): void
  /** How many lines were dropped so far. */
  readonly dropped: number
  /** Resolves when all lines were written or dropped, or after `max_ms`. */
  drained(max_ms: number): Promise<void>
  /** Writes what waits, in one attempt, for a process that may be about to end. */
  flushSync(): void
}

/** So much may wait for a reader that does not read; what comes then is dropped. */
const WAITING_MAX_BYTES = 1024 * 1024

/** At the most so much is written at once. */
const CHUNK_BYTES = 64 * 1024

/** A full pipe, which its reader may empty at any time, and anything else, which takes longer, are tried again after this. */
const FULL_RETRY_MS = 50
const FAILED_RETRY_MS = 1_000

const NEWLINE = Buffer.from('\n')

interface Line {
  bytes: Buffer
  /** Tells of so many lost lines; undefined for a line of the service. */
  tells_of?: number
}

/** How a file is written to: as `fs.write` and `fs.writeSync` do. */
export interface Writing {
  write(bytes: Buffer, done: (error: NodeJS.ErrnoException | null, written: number) => void): void
  /** @throws the system's error. */
  writeSync(bytes: Buffer): number
}

/**
 * A destination on an open file. Lines are written in the order in which they came, by a thread of Node's, many at once. Those
 * that a full disk, a closed pipe or an I/O error refuses are dropped; a full pipe is waited for, with a bounded number of bytes.
 * When writing works again, the first line says how many were lost, and since when.
 */
export function createLogDestination(
  { write, writeSync: writeNow }: Writing,
  { now = () => new Date() }: { now?: () => Date } = {},
): LogDestination {
  let waiting: Line[] = []
  let waiting_bytes = 0
  /** How many of the waiting lines are being written. */
  let in_flight = 0
  let retry: NodeJS.Timeout | undefined
  let dropped = 0
  /** Lines that no report has told of yet, and when the first of them was lost. */
  let untold = 0
  let lost_since = ''
  /** When the first line was lost that the waiting report does not tell of. */
  let lost_meanwhile = ''
  /** Whether the beginning of the first waiting line was written. */
  let is_cut = false
  /** Whether the last line in the file is one that was cut off and then dropped. */
  let is_torn = false
  const idle: (() => void)[] = []

  function lose(lines: number): void {
    if (lines === 0) return
    if (untold === 0) lost_since = now().toISOString()
    if (untold === waiting[0]?.tells_of) lost_meanwhile = now().toISOString()
    untold += lines
    dropped += lines
  }

  function report(): Line {
    const line = { level: 40, time: now().toISOString(), lost: untold, since: lost_since }
    const text = JSON.stringify({ ...line, msg: 'log lines were lost' })
    return { bytes: Buffer.from(`${text}\n`), tells_of: untold }
  }

  /** Puts a report of what was lost in front, in place of one that was not written. */
  function prepare(): void {
    if (is_cut || untold === 0) return
    if (waiting[0]?.tells_of !== undefined) waiting.shift()
    waiting.unshift(report())
  }

  /** The next lines that are written at once: one at least. */
  function chunk(): Line[] {
    let bytes = 0
    const end = waiting.findIndex(({ bytes: { length } }, i) => {
      bytes += length
      return i > 0 && bytes > CHUNK_BYTES
    })
    return end === -1 ? [...waiting] : waiting.slice(0, end)
  }

  function bytesOf(lines: readonly Line[]): Buffer {
    const parts = lines.map(({ bytes }) => bytes)
    return Buffer.concat(is_torn ? [NEWLINE, ...parts] : parts)
  }

  /**
   * Takes out of the waiting lines what was written, and leaves the rest of a line that was written in part. `mends` says
   * whether what was written began with the newline after a torn line.
   */
  function took(written: number, mends: boolean): void {
    let left = mends ? written - 1 : written
    if (mends) is_torn = false
    for (let [line] = waiting; line && left > 0; [line] = waiting) {
      const taken = Math.min(left, line.bytes.length)
      left -= taken
      if (line.tells_of === undefined) waiting_bytes -= taken
      is_cut = taken < line.bytes.length
      if (is_cut) {
        waiting[0] = { ...line, bytes: line.bytes.subarray(taken) }
      } else {
        waiting.shift()
        if (line.tells_of === undefined) continue
        untold -= line.tells_of
        if (untold > 0) lost_since = lost_meanwhile
      }
    }
  }

  function dropAll(): void {
    is_torn ||= is_cut
    is_cut = false
    lose(waiting.filter(({ tells_of }) => tells_of === undefined).length)
    waiting = []
    waiting_bytes = 0
  }

  function goOn(): void {
    if (in_flight > 0 || retry) return
    if (waiting.length === 0) for (const resolve of idle.splice(0)) resolve()
    prepare()
    const lines = chunk()
    if (lines.length === 0) return
    in_flight = lines.length
    const mends = is_torn
    write(bytesOf(lines), (error, written) => {
      in_flight = 0
      settle(error, written, mends)
      goOn()
    })
  }

  function settle(error: NodeJS.ErrnoException | null, written: number, mends: boolean): void {
    if (!error && written > 0) {
      took(written, mends)
      return
    }
    const is_full = !error || error.code === 'EAGAIN' || error.code === 'EWOULDBLOCK'
    if (!is_full) dropAll()
    if (waiting.length === 0) for (const resolve of idle.splice(0)) resolve()
    const wait_ms = is_full ? FULL_RETRY_MS : FAILED_RETRY_MS
    retry = setTimeout(() => {
      retry = undefined
      goOn()
    }, wait_ms).unref()
  }

  return {
    write(line) {
      const bytes = Buffer.from(line)
      if (waiting_bytes + bytes.length > WAITING_MAX_BYTES) return lose(1)
      waiting.push({ bytes })
      waiting_bytes += bytes.length
      goOn()
    },
    get dropped() {
      return dropped
    },
    drained(max_ms) {
      if (waiting.length === 0) return Promise.resolve()
      return new Promise((resolve) => {
        const late = setTimeout(resolve, max_ms)
        idle.push(() => {
          clearTimeout(late)
          resolve()
        })
        clearTimeout(retry)
        retry = undefined
        goOn()
      })
    },
    flushSync() {
      try {
        if (in_flight === 0) {
          prepare()
          while (waiting.length > 0) took(writeNow(bytesOf(waiting)), is_torn)
          return
        }
        // What a thread is writing it writes before the process ends, perhaps after this.
        for (let line = waiting[in_flight]; line; line = waiting[in_flight]) {
          const written = writeNow(line.bytes)
          waiting_bytes -= line.bytes.length
          waiting.splice(in_flight, 1)
          if (written === line.bytes.length) continue
          // Its rest would come after what the thread writes.
          is_torn = true
          lose(1)
          return
        }
      } catch {
        // One attempt: what is left is tried again if the process goes on.
      }
    },
  }
}

const STDOUT = 1

let stdout: LogDestination | undefined

/** The destination of this process's log: its stdout, which is one for all that log. */
export function stdoutLog(): LogDestination {
  if (stdout) return stdout
  // Node makes a pipe or socket non-blocking when its stream is first asked for; otherwise a full one would hold up a thread,
  // and with it the end of the process.
  void process.stdout
  const made = createLogDestination({
    write: (bytes, done) => writeAsync(STDOUT, bytes, 0, bytes.length, null, done),
    writeSync: (bytes) => writeSync(STDOUT, bytes),
  })
  process.once('exit', made.flushSync)
  stdout = made
  return made
}
