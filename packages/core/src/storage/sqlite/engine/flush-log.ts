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
 * Brings to disk what the log holds when a database is opened for writing.
 *
 * After a flush that failed, Linux keeps the pages in memory and marks them as written: the next process reads them, and
 * its own flushes skip them (source: wiki.postgresql.org/wiki/Fsync_Errors). Commits that are appended to such a log are
 * lost in a power cut, since recovery ends at the first frame that is missing. Writing the same bytes again makes them
 * pages that the next flush writes, or reports. A checkpoint is not sufficient: it writes newer pages into the database
 * file while the log on disk still ends with older ones, and a power cut in between mixes both.
 * @throws Error when the disk refuses, or when another process writes for longer than the connection waits.
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
