import { realpathSync, statSync } from 'node:fs'

/** The length of a rest, in durations of the step: a busy disk delays every commit. */
const REST = 4
const REST_MAX_MS = 1_000
/** After this time without a write, the backup does not rest. */
const QUIET_MS = 5_000
/** The log cannot be written back until the copy is complete. After this growth of the log, there are no rests. */
const LOG_GROWTH_MAX = 1024 ** 3

/**
 * How long a backup rests after a step of `step_ms`, depending on the log of the database. Without writes there is no
 * rest. The rest becomes shorter as the log grows, counted from this call.
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
