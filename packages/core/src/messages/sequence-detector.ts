/** The limit for sends to phone numbers in sequence. */
export interface SequenceLimit {
  /** The maximum numbers of one run within `window_s`. */
  max: number
  /** The length of the window in seconds. */
  window_s: number
}

/** A run of numbers in sequence that exceeds the limit. The numbers themselves are not reported. */
export interface Run {
  count: number
  /** The number of leading digits that all its numbers share. */
  prefix_length: number
}

/** Detects sends of a workspace to numbers in sequence. */
export interface SequenceDetector {
  /**
   * Records the numbers of one request. Returns the first run that is too long, or null. Numbers to which the workspace has
   * already sent within the window are not new and find no run.
   */
  check(workspaceId: string, numbers: readonly string[], at_ms: number): Run | null
  /** Drops the recorded numbers of a workspace. */
  forget(workspaceId: string): void
}

/** The smallest and the largest value of each part of a limit. */
export const SEQUENCE_LIMITS = { max: [3, 100], window_s: [1, 86_400] } as const

/** Numbers at most this far apart are in sequence, in any order of sending. */
export const STEP_MAX = 3

const WORKSPACES_MAX = 1_000

/** The maximum number of phone numbers of one workspace that are kept after a request. */
const NUMBERS_MAX = 1_000

/**
 * A detector in memory. It keeps the last 1,000 numbers of each of 1,000 workspaces, at most 50 MB, and drops the oldest
 * first.
 */
export function createSequenceDetector({ max, window_s }: SequenceLimit): SequenceDetector {
  /** The numbers of each workspace with the time of the last send. Both maps are ordered by last use. */
  const workspaces = new Map<string, Map<number, number>>()

  function touched(workspaceId: string): Map<number, number> {
    const seen = workspaces.get(workspaceId) ?? new Map<number, number>()
    workspaces.delete(workspaceId)
    workspaces.set(workspaceId, seen)
    if (workspaces.size > WORKSPACES_MAX) dropOldest(workspaces)
    return seen
  }

  return {
    check(workspaceId, numbers, at_ms) {
      const seen = touched(workspaceId)
      for (const [number, noted_ms] of seen) {
        if (at_ms - noted_ms < window_s * 1000) break
        seen.delete(number)
      }
      const fresh: number[] = []
      for (const text of numbers) {
        // A phone number has at most 15 digits, so it is exact as a JavaScript number.
        const number = Number(text.slice(1))
        if (!seen.delete(number)) fresh.push(number)
        seen.set(number, at_ms)
      }
      const run = firstRun(seen, fresh, max)
      while (seen.size > NUMBERS_MAX) dropOldest(seen)
      return run
    },
    forget: (workspaceId) => void workspaces.delete(workspaceId),
  }
}

function dropOldest(map: Map<unknown, unknown>): void {
  for (const key of map.keys()) {
    map.delete(key)
    return
  }
}

type Seen = ReadonlyMap<number, unknown>

function firstRun(seen: Seen, fresh: readonly number[], max: number): Run | null {
  for (const number of fresh) {
    const below = followed(seen, number, -1, max)
    const above = followed(seen, number, 1, max)
    const count = 1 + below.count + above.count
    if (count > max) return { count, prefix_length: commonDigits(below.end, above.end) }
  }
  return null
}

/** Counts the numbers in sequence above or below `number`, at most `max`, and returns the last one. */
function followed(
  seen: Seen,
  number: number,
  direction: 1 | -1,
  max: number,
): { count: number; end: number } {
  let end = number
  for (let count = 0; count < max; count++) {
    const next = STEPS.map((step) => end + direction * step).find((near) => seen.has(near))
    if (next === undefined) return { count, end }
    end = next
  }
  return { count: max, end }
}

const STEPS = Array.from({ length: STEP_MAX }, (_, i) => i + 1)

function commonDigits(low: number, high: number): number {
  const [a, b] = [`${low}`, `${high}`]
  if (a.length !== b.length) return 0
  const differs = [...a].findIndex((digit, i) => digit !== b[i])
  return differs === -1 ? a.length : differs
}

/**
 * Reads a limit for sends to numbers in sequence: numbers, slash, seconds.
 *
 * @example readSequenceLimit('10/60') // { max: 10, window_s: 60 }
 * @throws RangeError for another form or for values outside `SEQUENCE_LIMITS`.
 */
export function readSequenceLimit(text: string): SequenceLimit {
  const { max: counts, window_s: windows } = SEQUENCE_LIMITS
  const [, count, seconds] = /^(\d{1,5})\/(\d{1,5})$/.exec(text) ?? []
  const limit = { max: Number(count), window_s: Number(seconds) }
  if (isWithin(limit.max, counts) && isWithin(limit.window_s, windows)) return limit
  throw new RangeError(
    `${counts.join(' to ')} numbers/${windows.join(' to ')} seconds, for example 10/60, got "${text}"`,
  )
}

function isWithin(value: number, [least, most]: readonly [number, number]): boolean {
  return value >= least && value <= most
}
