/** When sends to numbers that follow one another are too many. */
export interface SequenceLimit {
  /** So many numbers of one run may be written to … */
  max: number
  /** … within so many seconds. */
  window_s: number
}

/** Numbers that follow one another, more of them than may be. Which ones is not told. */
export interface Run {
  count: number
  /** How many digits all of them begin with. */
  prefix_length: number
}

/** Watches which numbers workspaces write to. */
export interface SequenceDetector {
  /**
   * Notes what one request writes to, all of it at once; answers the first run that is too long, or null. A number that
   * was written to within the window is nothing new, and finds nothing.
   */
  look(workspaceId: string, numbers: readonly string[], at_ms: number): Run | null
  /** Begins anew with a workspace. */
  forget(workspaceId: string): void
}

/** The most and the least that a limit can be, in numbers and in seconds. */
export const SEQUENCE_LIMITS = { max: [3, 100], window_s: [1, 86_400] } as const

/** Two numbers follow one another when they are at most this far apart, in whatever order they come. */
export const STEP_MAX = 3

const WORKSPACES_MAX = 1_000

/** Of one workspace, between requests. */
const NUMBERS_MAX = 1_000

/**
 * A detector in memory. It keeps the 1,000 numbers that each of 1,000 workspaces wrote to last, 50 MB at the very most;
 * what was quiet longest is forgotten first.
 */
export function createSequenceDetector({ max, window_s }: SequenceLimit): SequenceDetector {
  /** Of each workspace the numbers and when each was written to, the oldest first; what was quiet longest first. */
  const workspaces = new Map<string, Map<number, number>>()

  function touched(workspaceId: string): Map<number, number> {
    const seen = workspaces.get(workspaceId) ?? new Map<number, number>()
    workspaces.delete(workspaceId)
    workspaces.set(workspaceId, seen)
    if (workspaces.size > WORKSPACES_MAX) dropOldest(workspaces)
    return seen
  }

  return {
    look(workspaceId, numbers, at_ms) {
      const seen = touched(workspaceId)
      for (const [number, noted_ms] of seen) {
        if (at_ms - noted_ms < window_s * 1000) break
        seen.delete(number)
      }
      const fresh: number[] = []
      for (const text of numbers) {
        // At most 15 digits: exact as a number.
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

/** How many numbers follow one another from `number` on, up or down, and where they end; no more than `max` are counted. */
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
