/** Limits the messages per second of a sender, and limits retries to a share of a provider's sends. */
export interface Pace {
  /** Returns 0 and counts the message if it may be sent now; otherwise the waiting time in ms. */
  take(of: {
    provider: string
    sender: string | null
    per_second: number | null
    isRetry: boolean
    /** The `Runtime.elapsed` in ms. If the clock were used and set back, no tokens would be added. */
    at_ms: number
  }): number
}

/**
 * Within this period, each waiting message gets a time of its own. Later messages must ask again; their requests are spread
 * over a second period of this length, so that a long backlog is not read all the time.
 */
const TURNS_MS = 60_000

/**
 * The share of a second's messages that may be sent at once. Due messages are claimed several times a second, so with a
 * smaller share capacity would be lost between two claims.
 */
const BURST_SHARE = 0.25

/**
 * The budget of retries grows with each first send and with time, up to `RETRIES_MAX`. Without the growth with time, retries
 * would stop when no new message is sent. The budget keeps the retries of a whole backlog away from a provider that is down.
 */
const RETRY_SHARE = 0.2
const RETRIES_PER_SECOND = 10
const RETRIES_MAX = 100
const RETRY_WAIT_MS = 5_000

/** The maximum number of senders in memory. Beyond it, the least recently used sender is removed. */
const SENDERS_MAX = 10_000

interface Budget {
  left: number
  at_ms: number
}

interface Bucket {
  /** The number of messages that may be sent now. */
  tokens: number
  at_ms: number
  /** The latest assigned time. */
  assigned_ms: number
  /** The number of messages that had to ask again; it spreads their waiting times. */
  put_off: number
}

/** The number of messages that may be sent at once. */
export function burstOf(per_second: number): number {
  return 1 + per_second * BURST_SHARE
}

/** The limits apply to one process; with several servers, each server may send up to the limits. */
export function createPace(): Pace {
  const buckets = new Map<string, Bucket>()
  const budgets = new Map<string, Budget>()

  function bucketOf(key: string, per_second: number, at_ms: number): Bucket {
    const full = burstOf(per_second)
    const bucket = buckets.get(key) ?? {
      tokens: full,
      at_ms,
      assigned_ms: Number.NEGATIVE_INFINITY,
      put_off: 0,
    }
    const gained = ((at_ms - bucket.at_ms) / 1_000) * per_second
    bucket.tokens = Math.min(full, bucket.tokens + gained)
    bucket.at_ms = at_ms
    buckets.delete(key)
    buckets.set(key, bucket)
    if (buckets.size > SENDERS_MAX) buckets.delete(buckets.keys().next().value as string)
    return bucket
  }

  function takeRate(key: string, per_second: number, at_ms: number): number {
    const bucket = bucketOf(key, per_second, at_ms)
    if (bucket.tokens >= 1) {
      bucket.tokens -= 1
      return 0
    }
    const each_ms = 1_000 / per_second
    const soonest_ms = at_ms + (1 - bucket.tokens) * each_ms
    const turn_ms = Math.max(soonest_ms, bucket.assigned_ms + each_ms)
    if (turn_ms <= at_ms + TURNS_MS) {
      bucket.assigned_ms = turn_ms
      return Math.ceil(turn_ms - at_ms)
    }
    bucket.put_off += 1
    return Math.ceil(TURNS_MS * (1 + spread(bucket.put_off)))
  }

  /** The budget of retries that a provider may get now. */
  function budgetOf(provider: string, at_ms: number): Budget {
    const budget = budgets.get(provider) ?? { left: RETRIES_MAX, at_ms }
    const gained = ((at_ms - budget.at_ms) / 1_000) * RETRIES_PER_SECOND
    budget.left = Math.min(RETRIES_MAX, budget.left + gained)
    budget.at_ms = at_ms
    budgets.set(provider, budget)
    return budget
  }

  return {
    take({ provider, sender, per_second, isRetry, at_ms }) {
      const budget = budgetOf(provider, at_ms)
      if (isRetry && budget.left < 1) return RETRY_WAIT_MS
      const key = `${provider}\n${sender ?? ''}`
      const wait_ms = per_second === null ? 0 : takeRate(key, per_second, at_ms)
      if (wait_ms === 0) budget.left += isRetry ? -1 : RETRY_SHARE
      return wait_ms
    },
  }
}

/** The golden ratio spreads any number of values evenly between 0 and 1. */
function spread(n: number): number {
  return (n * 0.618_033_988_749_895) % 1
}
