import type { FastifyRateLimitOptions, FastifyRateLimitStore } from '@fastify/rate-limit'

interface Counter {
  count: number
  ends_at_ms: number
}

/** So many counters are kept at the most before those that ended are swept out. */
const SWEEP_AT = 100_000

type Answer = (error: Error | null, result?: { current: number; ttl: number }) => void

/**
 * Fixed windows in this process. Unlike a bounded cache, it forgets no counter before its window ends: whoever is
 * being held back cannot flush his own by sending under many names.
 */
export function memoryCounters(now: () => number) {
  const counters = new Map<string, Counter>()
  let sweepAt = SWEEP_AT

  function sweep(at: number): void {
    if (counters.size < sweepAt) return
    for (const [key, counter] of counters) if (counter.ends_at_ms <= at) counters.delete(key)
    sweepAt = Math.max(SWEEP_AT, counters.size * 2)
  }

  function current(key: string, at: number): Counter | null {
    const counter = counters.get(key)
    return counter && counter.ends_at_ms > at ? counter : null
  }

  class MemoryCounters implements FastifyRateLimitStore {
    // Buckets share the map; their keys tell them apart.
    child(_: FastifyRateLimitOptions): FastifyRateLimitStore {
      return this
    }

    incr(key: string, answer: Answer, window_ms = 0): void {
      const at = now()
      const counter = current(key, at) ?? { count: 0, ends_at_ms: at + window_ms }
      counter.count += 1
      counters.set(key, counter)
      sweep(at)
      answer(null, { current: counter.count, ttl: counter.ends_at_ms - at })
    }

    read(key: string, answer: Answer, window_ms = 0): void {
      const at = now()
      const counter = current(key, at)
      answer(null, {
        current: counter?.count ?? 0,
        ttl: counter ? counter.ends_at_ms - at : window_ms,
      })
    }
  }
  return {
    store: MemoryCounters,
    /** Whether anything was counted under `key` in a window that still runs. */
    has: (key: string) => counters.size > 0 && current(key, now()) !== null,
  }
}
