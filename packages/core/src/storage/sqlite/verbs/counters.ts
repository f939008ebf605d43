import type { Counter, HotVerbs } from '../../ports/hot.ts'

interface Window {
  count: number
  ends_at_ms: number
}

/** Counters whose window ended are removed at this number of counters. */
const SWEEP_AT = 100_000

/**
 * The verb `count` for the only process on a file. The counters are in its memory. Unlike a bounded cache, it keeps
 * every counter until its window ends: a throttled client cannot evict its own counter by using many keys. `elapsed_ms`
 * measures windows: setting the clock does not change their length.
 */
export function prepareCount(): HotVerbs['count'] {
  const windows = new Map<string, Window>()
  let sweepAt = SWEEP_AT

  function sweep(at_ms: number): void {
    if (windows.size < sweepAt) return
    for (const [key, { ends_at_ms }] of windows) if (ends_at_ms <= at_ms) windows.delete(key)
    sweepAt = Math.max(SWEEP_AT, windows.size * 2)
  }

  function running(key: string, at_ms: number): Window | null {
    const window = windows.get(key)
    return window && window.ends_at_ms > at_ms ? window : null
  }

  return (countings) =>
    countings.map(({ key, window_ms, add, elapsed_ms: at_ms }): Counter => {
      const window = running(key, at_ms) ?? { count: 0, ends_at_ms: at_ms + window_ms }
      if (add > 0) {
        window.count += add
        windows.set(key, window)
        sweep(at_ms)
      }
      return { count: window.count, ends_in_ms: Math.ceil(window.ends_at_ms - at_ms) }
    })
}
