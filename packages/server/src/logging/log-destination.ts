import { write as writeAsync, writeSync } from 'node:fs'

/** The destination of log lines. Writing to it never waits and never throws. */
interface LogDestination {
  /** Takes a line with its newline; a line that does not fit in the buffer is dropped and counted. */
  write(line: string): void
  /** The number of lines dropped so far. */
  readonly dropped: number
  /** Resolves when all lines are written or dropped, or after `max_ms`. */
  drained(max_ms: number): Promise<void>
  /** Writes the waiting lines in one attempt, because the process may be about to end. */
  flushSync(): void
}

/** The maximum size of the lines that wait for a reader; further lines are dropped. */
const WAITING_MAX_BYTES = 1024 * 1024

/** The maximum size of one write. */
const CHUNK_BYTES = 64 * 1024

/** The wait before a retry. It is short for a full pipe, because the reader of the pipe may empty it at any time. */
const FULL_RETRY_MS = 50
/** The wait after other faults. */
const FAILED_RETRY_MS = 1_000

const NEWLINE = Buffer.from('\n')

interface Line {
  bytes: Buffer
  /** The number of lost lines that this line reports; undefined for a line of the service. */
  reported?: number
}

/** The writing functions of a file, with the meaning of `fs.write` and `fs.writeSync`. */
interface Writing {
  write(bytes: Buffer, done: (error: NodeJS.ErrnoException | null, written: number) => void): void
  /** @throws the system's error. */
  writeSync(bytes: Buffer): number
}

/**
 * A destination on an open file. A thread of Node writes lines in their order, many at once. If a full disk, a closed
 * pipe or an I/O error refuses lines, they are dropped. If a pipe is full, lines wait, up to a number of bytes. When
 * writing works again, the first line reports the number of lost lines and the time of the first loss.
 */
export function createLogDestination(
  { write, writeSync: writeNow }: Writing,
  { now = () => new Date() }: { now?: () => Date } = {},
): LogDestination {
  let waiting: Line[] = []
  let waiting_bytes = 0
  /** The number of waiting lines in the current write. */
  let in_flight = 0
  let retry: NodeJS.Timeout | undefined
  let dropped = 0
  /** The number of lost lines without a written report, and the time of the first loss. */
  let unreported = 0
  let lost_since = ''
  /** The time of the first loss after the waiting report was made. */
  let lost_meanwhile = ''
  /** Whether the first waiting line was written in part. */
  let is_cut = false
  /** Whether the last line in the file is incomplete, because its rest was dropped. */
  let is_torn = false
  const idle: (() => void)[] = []

  function lose(lines: number): void {
    if (lines === 0) return
    if (unreported === 0) lost_since = now().toISOString()
    if (unreported === waiting[0]?.reported) lost_meanwhile = now().toISOString()
    unreported += lines
    dropped += lines
  }

  function report(): Line {
    const line = { level: 40, time: now().toISOString(), lost: unreported, since: lost_since }
    const text = JSON.stringify({ ...line, msg: 'log lines were lost' })
    return { bytes: Buffer.from(`${text}\n`), reported: unreported }
  }

  /** Puts a report of the lost lines first. It replaces an earlier report that was not written. */
  function prepare(): void {
    if (is_cut || unreported === 0) return
    if (waiting[0]?.reported !== undefined) waiting.shift()
    waiting.unshift(report())
  }

  /** The lines of the next write: at least one. */
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
   * Removes the written bytes from the waiting lines; the rest of a line written in part stays. `mends`: whether the
   * written bytes began with the newline after an incomplete line.
   */
  function removeWritten(written: number, mends: boolean): void {
    let left = mends ? written - 1 : written
    if (mends) is_torn = false
    for (let [line] = waiting; line && left > 0; [line] = waiting) {
      const taken = Math.min(left, line.bytes.length)
      left -= taken
      if (line.reported === undefined) waiting_bytes -= taken
      is_cut = taken < line.bytes.length
      if (is_cut) {
        waiting[0] = { ...line, bytes: line.bytes.subarray(taken) }
      } else {
        waiting.shift()
        if (line.reported === undefined) continue
        unreported -= line.reported
        if (unreported > 0) lost_since = lost_meanwhile
      }
    }
  }

  function dropAll(): void {
    is_torn ||= is_cut
    is_cut = false
    lose(waiting.filter(({ reported }) => reported === undefined).length)
    waiting = []
    waiting_bytes = 0
  }

  function writeNext(): void {
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
      writeNext()
    })
  }

  function settle(error: NodeJS.ErrnoException | null, written: number, mends: boolean): void {
    if (!error && written > 0) {
      removeWritten(written, mends)
      return
    }
    const is_full = !error || error.code === 'EAGAIN' || error.code === 'EWOULDBLOCK'
    if (!is_full) dropAll()
    if (waiting.length === 0) for (const resolve of idle.splice(0)) resolve()
    const wait_ms = is_full ? FULL_RETRY_MS : FAILED_RETRY_MS
    retry = setTimeout(() => {
      retry = undefined
      writeNext()
    }, wait_ms).unref()
  }

  return {
    write(line) {
      const bytes = Buffer.from(line)
      if (waiting_bytes + bytes.length > WAITING_MAX_BYTES) return lose(1)
      waiting.push({ bytes })
      waiting_bytes += bytes.length
      writeNext()
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
        writeNext()
      })
    },
    flushSync() {
      try {
        if (in_flight === 0) {
          prepare()
          while (waiting.length > 0) removeWritten(writeNow(bytesOf(waiting)), is_torn)
          return
        }
        // The thread finishes its write before the process ends, maybe after this write.
        for (let line = waiting[in_flight]; line; line = waiting[in_flight]) {
          const written = writeNow(line.bytes)
          waiting_bytes -= line.bytes.length
          waiting.splice(in_flight, 1)
          if (written === line.bytes.length) continue
          // The rest of the line would come after the lines that the thread writes.
          is_torn = true
          lose(1)
          return
        }
      } catch {
        // There is one attempt. If the process continues, the remaining lines are retried.
      }
    },
  }
}

const STDOUT = 1

let stdout: LogDestination | undefined

/** The destination of this process's log: its stdout, which all loggers share. */
export function stdoutLog(): LogDestination {
  if (stdout) return stdout
  // Node makes a pipe or socket non-blocking when its stream is first read. Otherwise a full pipe would block a
  // thread, and the process could not end.
  void process.stdout
  const made = createLogDestination({
    write: (bytes, done) => writeAsync(STDOUT, bytes, 0, bytes.length, null, done),
    writeSync: (bytes) => writeSync(STDOUT, bytes),
  })
  process.once('exit', made.flushSync)
  stdout = made
  return made
}
