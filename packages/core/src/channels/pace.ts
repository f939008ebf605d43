/** Limits the messages per second of a sender, and retries to a share of a provider's sends. */
export interface Pace {
  /** Returns 0 and counts the message if it may be sent now; otherwise the waiting time in ms. */
  take(of: {
    provider: string
    sender: string | null
    per_second: number | null
    isRetry: boolean
    /** Milliseconds of `Runtime.elapsed`: with a clock that is set back, no tokens would be added. */
    at_ms: number
  }): number
}

/**
 * A waiting message gets a time of its own within this period. Messages beyond it must ask again, spread over another such
 * period, so that a long backlog is not read all the time.
 */
const TURNS_MS = 60_000

/**
 * The share of a second's messages that may be sent at once. Due messages are claimed several times a second: with a
 * smaller share, capacity would be lost between two claims.
 */
const BURST_SHARE = 0.25

/**
 * The budget of retries grows with each first send, and per second, so that retries end when nothing new is sent;
 * `RETRIES_MAX` is its maximum. It protects a provider that is down from retries of the whole backlog.
 */
const RETRY_SHARE = 0.2
const RETRIES_PER_SECOND = 10
const RETRIES_MAX = 100
const RETRY_WAIT_MS = 5_000

/** Beyond this number, the least recently used sender is removed. */
const SENDERS_MAX = 10_000

interface Budget {
  left: number
  at_ms: number
}

interface Bucket {
  /** Messages that may be sent now. */
  tokens: number
  at_ms: number
  /** The latest assigned time. */
  assigned_ms: number
  /** Messages that must ask again, counted to spread them. */
  put_off: number
}

/** The number of messages that may be sent at once. */
export function burstOf(per_second: number): number {
  return 1 + per_second * BURST_SHARE
}

/** The limits apply to this process: each of several servers may send that much. */
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

  /** The retries that a provider may get now. */
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
