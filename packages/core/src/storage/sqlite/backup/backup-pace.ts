import { realpathSync, statSync } from 'node:fs'

/** So many times as long as a step took: a disk that is kept busy makes every commit wait. */
const REST = 4
const REST_MAX_MS = 1_000
/** Whoever has written nothing for so long need not be waited for. */
const QUIET_MS = 5_000
/** The log cannot be written back until the copy is made: when it has grown by so much there are no rests any more. */
const LOG_GROWTH_MAX = 1024 ** 3

/**
 * How long a backup rests after a step that took `step_ms`, by the log of the database: not at all while nobody writes,
 * and the less the more that log has grown since this was called.
 */
export function createPace(database: string): (step_ms: number, now: Date) => number {
  const log = `${realpathSync(database)}-wal`
  const found = () => statSync(log, { throwIfNoEntry: false }) ?? { size: 0, mtimeMs: 0 }
  const before = found().size
  return (step_ms, now) => {
    const { size, mtimeMs } = found()
    if (now.getTime() - mtimeMs > QUIET_MS) return 0
    const left = Math.max(0, 1 - Math.max(0, size - before) / LOG_GROWTH_MAX)
    return left * Math.min(REST * step_ms, REST_MAX_MS)
  }
}
