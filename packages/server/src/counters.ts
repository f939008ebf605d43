import type { FastifyRateLimitOptions, FastifyRateLimitStore } from '@fastify/rate-limit'
import type { Core } from '@svc/core'

type Answer = (error: Error | null, result?: { current: number; ttl: number }) => void

/** Lets the plugin count where the core does; whatever fails there is the plugin's failure too. */
export function countersOf({ count }: Pick<Core, 'count'>): new () => FastifyRateLimitStore {
  function ask(key: string, answer: Answer, window_ms: number, add: 0 | 1): void {
    count({ key, window_ms, add }).then(
      ({ count: current, ends_in_ms: ttl }) => answer(null, { current, ttl }),
      answer,
    )
  }

  return class implements FastifyRateLimitStore {
    // Buckets share the counters; their keys tell them apart.
    child(_: FastifyRateLimitOptions): FastifyRateLimitStore {
      return this
    }

    incr(key: string, answer: Answer, window_ms = 0): void {
      ask(key, answer, window_ms, 1)
    }

    read(key: string, answer: Answer, window_ms = 0): void {
      ask(key, answer, window_ms, 0)
    }
  }
}
