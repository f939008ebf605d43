/** Counts durations in steps of 2 %, so that many can be stored and added up. */
export interface Histogram {
  add(ms: number): void
  /** The durations since the last call. */
  take(): Durations
}

/** The number of durations in each step. */
export type Durations = ReadonlyMap<number, number>

const STEP = Math.log(1.02)

export function createHistogram(): Histogram {
  let counts = new Map<number, number>()
  return {
    add(ms) {
      const step = Math.ceil(Math.log(Math.max(ms, 0.01)) / STEP)
      counts.set(step, (counts.get(step) ?? 0) + 1)
    },
    take() {
      const taken = counts
      counts = new Map()
      return taken
    },
  }
}

/** The percentile in milliseconds; NaN without durations. */
export function percentile(parts: readonly Durations[], share: number): number {
  const all = new Map<number, number>()
  let total = 0
  for (const [step, count] of parts.flatMap((part) => [...part])) {
    all.set(step, (all.get(step) ?? 0) + count)
    total += count
  }
  let left = total * share
  for (const step of [...all.keys()].toSorted((a, b) => a - b)) {
    left -= all.get(step) ?? 0
    if (left <= 0) return Math.exp(step * STEP)
  }
  return Number.NaN
}
