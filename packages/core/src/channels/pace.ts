/** Holds senders to so many messages a second, and repetitions to a share of what a provider is sent at all. */
export interface Pace {
  /** 0: it may be sent now, and is counted. Else how many milliseconds it should wait. */
  take(of: {
    provider: string
    sender: string | null
    per_second: number | null
    isRepetition: boolean
    /** Milliseconds of `Runtime.elapsed`: a clock that is set back would stop the gain. */
    at_ms: number
  }): number
}

/**
 * Each that waits is told its own turn, as long as that comes within it. Those behind are told to ask again, spread over
 * as long again, so that a long backlog is not looked at all the time.
 */
const TURNS_MS = 60_000

/**
 * How much of a second's messages may go at once after a rest. What is due is looked for several times a second: less
 * would be lost between two looks.
 */
const BURST_SHARE = 0.25

/**
 * So many repetitions go for each first send, and so many a second besides, so that they come to an end where nothing
 * new is sent; so many at once when there were none for long. A provider that is down is not hammered by its backlog.
 */
const REPETITION_SHARE = 0.2
const REPETITIONS_PER_SECOND = 10
const REPETITIONS_FREE = 100
const REPETITION_WAIT_MS = 5_000

/** Beyond so many senders the longest unused is forgotten. */
const SENDERS_MAX = 10_000

interface Budget {
  left: number
  at_ms: number
}

interface Bucket {
  /** How many may go now. */
  tokens: number
  at_ms: number
  /** Up to when turns have been given out. */
  given_ms: number
  /** How many were told to ask again, for spreading them. */
  put_off: number
}

/** How many messages may go at once. */
export function burstOf(per_second: number): number {
  return 1 + per_second * BURST_SHARE
}

/** Counts in this process alone: several servers each send so much. */
export function createPace(): Pace {
  const buckets = new Map<string, Bucket>()
  const budgets = new Map<string, Budget>()

  function bucketOf(key: string, per_second: number, at_ms: number): Bucket {
    const full = burstOf(per_second)
    const bucket = buckets.get(key) ?? {
      tokens: full,
      at_ms,
      given_ms: Number.NEGATIVE_INFINITY,
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
    const turn_ms = Math.max(soonest_ms, bucket.given_ms + each_ms)
    if (turn_ms <= at_ms + TURNS_MS) {
      bucket.given_ms = turn_ms
      return Math.ceil(turn_ms - at_ms)
    }
    bucket.put_off += 1
    return Math.ceil(TURNS_MS * (1 + spread(bucket.put_off)))
  }

  /** How many repetitions a provider may be sent just now. */
  function budgetOf(provider: string, at_ms: number): Budget {
    const budget = budgets.get(provider) ?? { left: REPETITIONS_FREE, at_ms }
    const gained = ((at_ms - budget.at_ms) / 1_000) * REPETITIONS_PER_SECOND
    budget.left = Math.min(REPETITIONS_FREE, budget.left + gained)
    budget.at_ms = at_ms
    budgets.set(provider, budget)
    return budget
  }

  return {
    take({ provider, sender, per_second, isRepetition, at_ms }) {
      const budget = budgetOf(provider, at_ms)
      if (isRepetition && budget.left < 1) return REPETITION_WAIT_MS
      const key = `${provider}\n${sender ?? ''}`
      const wait_ms = per_second === null ? 0 : takeRate(key, per_second, at_ms)
      if (wait_ms === 0) budget.left += isRepetition ? -1 : REPETITION_SHARE
      return wait_ms
    },
  }
}

/** Evenly between 0 and 1, however many have come: by the golden ratio, the numbers in between fill up evenly. */
function spread(n: number): number {
  return (n * 0.618_033_988_749_895) % 1
}
