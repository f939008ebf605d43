import {
  closeSync,
  fsyncSync,
  openSync,
  readSync,
  realpathSync,
  statSync,
  writeSync,
} from 'node:fs'
import type Database from 'better-sqlite3'

const CHUNK_BYTES = 1024 * 1024

/**
 * Flushes the existing log to disk when a database is opened for writing.
 *
 * After a flush that failed, Linux keeps the pages in memory and marks them as written: the next process reads them,
 * and its own flushes skip them (source: wiki.postgresql.org/wiki/Fsync_Errors). Commits that are appended to such a
 * log are lost in a power cut, because recovery ends at the first missing frame. After the same bytes are written
 * again, the next flush writes them or reports an error. A checkpoint is not sufficient: it writes newer pages into the
 * database file while the log on disk still ends with older pages, and a power cut at that time mixes both.
 * @throws Error when the disk refuses the write, or when another process writes for longer than the connection waits.
 */
export function flushLog(connection: Database.Database, file: string): void {
  const log = `${realpathSync(file)}-wal`
  if (!statSync(log, { throwIfNoEntry: false })?.size) return
  // Blocks every process that would append to the log or restart it.
  connection.exec('begin immediate')
  try {
    writeAgain(log)
  } finally {
    connection.exec('rollback')
  }
}

function writeAgain(file: string): void {
  const handle = openSync(file, 'r+')
  try {
    const chunk = Buffer.alloc(CHUNK_BYTES)
    for (let at = 0; ; ) {
      const length = readSync(handle, chunk, 0, chunk.length, at)
      if (length === 0) break
      for (let done = 0; done < length; ) {
        done += writeSync(handle, chunk, done, length - done, at + done)
      }
      at += length
    }
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
