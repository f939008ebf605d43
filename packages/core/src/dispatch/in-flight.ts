import type { CallCount } from './performer.ts'

/**
 * The messages in flight to each provider. A provider with a limited number of connections gets only as many messages as
 * these can carry (Little's law: connections ÷ latency); the latency, and how many requests the peer really works on at
 * once, are learned from its answers.
 */
export interface InFlight {
  /** Counts messages that wait for room; the caller calls the returned function when they wait no longer. */
  waits(provider: string, messages: number): () => void
  /**
   * Counts a call; the caller calls the returned function when the call ends, with the number of its messages that got no
   * answer.
   */
  began(provider: string, messages: number): (unanswered?: number) => void
  /** How many waiting messages may be handed over now, and how many of them in one batch. */
  roomOf(provider: string): { messages: number; batch: number }
  /** Null if a message may be claimed for the provider now, counting `more` that are about to start. */
  busy(provider: string, more?: number): Busy | null
  /** Whether the provider is slow and has its maximum of messages in calls. */
  isFull(provider: string): boolean
}

/** How long a message waits for its provider. A provider that is slow may be passed over for the next one. */
export interface Busy {
  wait_ms: number
  is_slow: boolean
}

/** What is known of the load that a provider carries. */
export interface LoadParts {
  /** The requests that each provider makes at once, in each thread and in all; a provider that is not listed: any number. */
  connections?: ReadonlyMap<string, { each: number; all: number }> | undefined
  /** The requests of the provider that have ended. */
  callsOf?: ((provider: string) => CallCount) | undefined
}

/** A provider without known connections is slow after a call that took longer than this, until a faster call ends. */
const SLOW_MS = 5_000

/** How long a message waits for a slow provider that has its maximum in flight. */
const BUSY_WAIT_MS = 1_000

/** The bounds of the wait for a provider whose latency is known. */
const BUSY_WAIT_MIN_MS = 250
const BUSY_WAIT_MAX_MS = 10_000

/** The messages that wait for a provider of which no latency is known yet. */
const LEARNING_WAITS = 32

/** With a shorter latency, the messages of a provider may take all slots: they are free again soon. */
const QUICK_MS = 50

/** The time of the messages that wait for the provider: long enough that none of its connections waits for a claim. */
const WAIT_MS = 2_000

/** The time that messages may wait for a connection in a thread, so that a connection is not idle between two messages. */
const QUEUED_MS = 250

/** A batch holds its slots until its last message has ended, so only quick providers get more than one message in it. */
const BATCH_MS = 100
const BATCH_MAX = 64

/** The share of recent messages without an answer above which the limit is lowered, and the weight of one message in it. */
const UNANSWERED_MAX = 0.25
const UNANSWERED_WEIGHT = 0.1

/** A provider that gives no answer for this time is slow, although its latency was shorter. */
const SILENT_MS = 1_000

/** The weight of the latest calls in the latency. */
const WEIGHT = 0.3

/** The requests that a new provider gets at once. */
const LIMIT_START = 8

/**
 * A larger limit stays if it brings this share of its own gain; while it does, the limit doubles after each round of `limit`
 * calls. After that, another limit is tried every few rounds: soon after the first failure, which a slow moment of either
 * side explains as well, then less and less often.
 */
const GAIN = 0.5
const TRY_FACTOR = 1.25
const TRY_ROUNDS_MIN = 2
const TRY_ROUNDS_MAX = 8
const WAITS_FACTOR = 3

/** With a latency below this, a larger limit is harmless. */
const SHORT_MS = 100
/** With a longer latency, a smaller limit is tried, too. */
const LONG_MS = 1_000

interface Calls {
  /** Messages in calls. */
  messages: number
  waiting: number
  /** The starts of the calls in flight, the oldest first. */
  began: Set<{ at_ms: number }>
  wasSlow: boolean
  /** When the last call ended. */
  ended_at_ms: number
  read: CallCount
  latency_ms: number | null
  width: Width
}

/** How many requests the peer works on at once, as learned. Times are milliseconds. */
interface Width {
  limit: number
  is_growing_fast: boolean
  /** The limit before the one that is tried now; null: none is tried. */
  tried_from: number | null
  /** The latency with the limit before, or with this one if none is tried; null: not known yet. */
  latency_ms: number | null
  lowered_at: number
  /** The share of recent messages without an answer. */
  unanswered_share: number
  /** The rounds since the limit changed. */
  rounds: number
  /** The rounds before another limit is tried. */
  try_rounds: number
  tries: number
  round: { calls: number; took_ms: number; fastest_ms: number; was_full: boolean }
}

/**
 * @param max maximum messages in flight to a slow provider. Without it, a provider that hangs with a long backlog would
 *   take all slots, and the messages of other providers would wait.
 */
export function createInFlight({
  max,
  elapsed,
  connections = new Map(),
  callsOf = () => ({ calls: 0, took_ms: 0 }),
}: LoadParts & { max: number; elapsed: () => number }): InFlight {
  const providers = new Map<string, Calls>()

  function callsTo(provider: string): Calls {
    const known = providers.get(provider)
    if (known) return known
    const calls: Calls = {
      messages: 0,
      waiting: 0,
      began: new Set(),
      wasSlow: false,
      ended_at_ms: Number.NEGATIVE_INFINITY,
      read: callsOf(provider),
      latency_ms: null,
      width: {
        limit: LIMIT_START,
        is_growing_fast: true,
        tried_from: null,
        latency_ms: null,
        lowered_at: Number.NEGATIVE_INFINITY,
        unanswered_share: 0,
        rounds: 0,
        try_rounds: TRY_ROUNDS_MIN,
        tries: 0,
        round: newRound(),
      },
    }
    providers.set(provider, calls)
    return calls
  }

  function ageOfOldest({ began }: Calls): number {
    const [oldest] = began
    return oldest ? elapsed() - oldest.at_ms : 0
  }

  const isFull = (calls: Calls, more: number) => calls.messages + more >= max && isSlow(calls)
  const isSlow = (calls: Calls) => calls.wasSlow || ageOfOldest(calls) >= SLOW_MS

  /** The latency as far as it is known; a provider that does not answer any more is at least as slow as it is silent. */
  function latencyOf(calls: Calls): number | null {
    const silent_ms = Math.min(ageOfOldest(calls), elapsed() - calls.ended_at_ms)
    if (silent_ms >= SILENT_MS) return Math.max(calls.latency_ms ?? 0, silent_ms)
    return calls.latency_ms
  }

  /** Reads the calls that have ended since the last reading. */
  function noteLatency(provider: string, calls: Calls): CallCount {
    const now = callsOf(provider)
    // Both counts wrap at 32 bits.
    const ended = (now.calls - calls.read.calls) | 0
    if (ended <= 0) return { calls: 0, took_ms: 0 }
    const took_ms = (now.took_ms - calls.read.took_ms) | 0
    calls.read = now
    const mean_ms = took_ms / ended
    const before_ms = calls.latency_ms ?? mean_ms
    calls.latency_ms = before_ms + (mean_ms - before_ms) * WEIGHT
    return { calls: ended, took_ms }
  }

  /** The requests that the provider may have at once. */
  const limitOf = ({ width }: Calls, all: number) =>
    Math.min(all, Math.max(1, Math.floor(width.limit)))

  /** The maximum number of messages of the provider, waiting and in calls. */
  function capacityOf(calls: Calls, all: number): number {
    const latency_ms = latencyOf(calls)
    const limit = limitOf(calls, all)
    if (latency_ms === null) return limit + LEARNING_WAITS
    const capacity = limit + Math.ceil(Math.max(limit, (limit * WAIT_MS) / Math.max(1, latency_ms)))
    return latency_ms < QUICK_MS ? capacity : Math.min(max, capacity)
  }

  return {
    waits(provider, messages) {
      const calls = callsTo(provider)
      calls.waiting += messages
      return () => {
        calls.waiting -= messages
      }
    },
    began(provider, messages) {
      const calls = callsTo(provider)
      const call = { at_ms: elapsed() }
      calls.began.add(call)
      calls.messages += messages
      return (unanswered = 0) => {
        if (!calls.began.delete(call)) return
        calls.messages -= messages
        const at = elapsed()
        calls.ended_at_ms = at
        calls.wasSlow = at - call.at_ms >= SLOW_MS
        const { all = 0 } = connections.get(provider) ?? {}
        if (all === 0) return
        const ended = noteLatency(provider, calls)
        noteUnanswered(calls.width, messages, unanswered)
        if (calls.width.unanswered_share > UNANSWERED_MAX) {
          lower(calls.width, { began: call.at_ms, at, all })
        } else learn(calls.width, ended, all)
      }
    },
    roomOf(provider) {
      const own = connections.get(provider)
      if (!own) return { messages: Number.POSITIVE_INFINITY, batch: BATCH_MAX }
      const calls = callsTo(provider)
      const limit = limitOf(calls, own.all)
      const latency_ms = latencyOf(calls)
      const queued = limit < own.all || latency_ms === null ? 0 : (limit * QUEUED_MS) / latency_ms
      const room = Math.max(0, Math.floor(limit + queued) - calls.messages)
      if (room === 0) calls.width.round.was_full = true
      const isQuick = latency_ms !== null && latency_ms < QUICK_MS
      const batch = isQuick ? Math.floor((own.each * BATCH_MS) / Math.max(1, latency_ms)) : 1
      return { messages: room, batch: Math.min(BATCH_MAX, Math.max(1, batch)) }
    },
    busy(provider, more = 0) {
      const calls = providers.get(provider)
      if (!calls) return null
      const own = connections.get(provider)
      if (!own) {
        return isFull(calls, more) ? { wait_ms: BUSY_WAIT_MS, is_slow: true } : null
      }
      const { all } = own
      const capacity = capacityOf(calls, all)
      if (calls.messages + calls.waiting + more < capacity) return null
      const limit = limitOf(calls, all)
      // Half of the time for which the waiting messages last. The first answers come soon, or the provider is slow.
      const wait_ms = (((capacity - limit) / limit) * (latencyOf(calls) ?? 0)) / 2
      return {
        wait_ms: Math.min(BUSY_WAIT_MAX_MS, Math.max(BUSY_WAIT_MIN_MS, wait_ms)),
        is_slow: isSlow(calls),
      }
    },
    isFull(provider) {
      const calls = providers.get(provider)
      return calls !== undefined && isFull(calls, 0)
    },
  }
}

function newRound(): Width['round'] {
  return { calls: 0, took_ms: 0, fastest_ms: Number.POSITIVE_INFINITY, was_full: false }
}

function noteUnanswered(width: Width, messages: number, unanswered: number): void {
  for (let i = 0; i < messages; i++) {
    const lost = i < unanswered ? 1 : 0
    width.unanswered_share += (lost - width.unanswered_share) * UNANSWERED_WEIGHT
  }
}

/** Lowers the limit after calls without an answer: they may have waited in the peer behind others. */
function lower(width: Width, { began, at, all }: { began: number; at: number; all: number }): void {
  width.round = newRound()
  // Once a round, because calls that were in flight together have the same cause.
  if (began < width.lowered_at) return
  width.lowered_at = at
  width.try_rounds = TRY_ROUNDS_MAX
  change(width, Math.max(1, Math.floor(Math.min(width.limit, all) / 2)))
}

function change(width: Width, limit: number): void {
  width.limit = limit
  width.is_growing_fast = false
  width.tried_from = null
  width.latency_ms = null
  width.rounds = 0
}

/**
 * Learns from calls that ended. A peer that is slow for all its requests is as fast with more of them at once; with a peer
 * that works on few at once, more requests only wait there, until they get no answer in time.
 */
function learn(width: Width, ended: CallCount, all: number): void {
  width.limit = Math.min(width.limit, all)
  const { round, limit } = width
  round.calls += ended.calls
  round.took_ms += ended.took_ms
  if (ended.calls > 0) {
    round.fastest_ms = Math.min(round.fastest_ms, ended.took_ms / ended.calls)
  }
  if (round.calls < limit) return
  width.round = newRound()
  if (!round.was_full) return
  width.rounds += 1
  // The first round after a change has calls that began before it.
  if (!width.is_growing_fast && width.rounds === 1) return
  const latency_ms = round.took_ms / round.calls
  const before_ms = width.latency_ms
  width.latency_ms = latency_ms
  if (width.tried_from !== null && before_ms !== null) {
    const grown = limit / width.tried_from - 1
    const gained = ((limit / width.tried_from) * before_ms) / Math.max(1, latency_ms) - 1
    const share = gained / grown
    // A smaller limit stays if it costs no rate; a larger one stays if it brings some.
    const isBetter = grown < 0 ? share < GAIN : share >= GAIN || latency_ms < SHORT_MS
    if (!isBetter) {
      change(width, width.tried_from)
      width.try_rounds = Math.min(TRY_ROUNDS_MAX, 2 * width.try_rounds)
      return
    }
    width.tried_from = null
    width.rounds = 1
    width.try_rounds = TRY_ROUNDS_MIN
    width.is_growing_fast = grown > 0
  }
  // Requests that began together and end one after the other wait in the peer.
  if (latency_ms > WAITS_FACTOR * round.fastest_ms) width.is_growing_fast = false
  if (!width.is_growing_fast && width.rounds < width.try_rounds) return
  tryNext(width, all)
}

/** Tries another limit. Where requests wait in the peer, a smaller one keeps the rate and shortens the wait. */
function tryNext(width: Width, all: number): void {
  const { limit, is_growing_fast, latency_ms, try_rounds } = width
  width.tries += 1
  width.rounds = 0
  const mayShrink =
    !is_growing_fast && try_rounds === TRY_ROUNDS_MAX && (latency_ms ?? 0) >= LONG_MS
  const isSmaller = mayShrink && width.tries % 2 === 0
  const next = isSmaller
    ? Math.floor(limit / TRY_FACTOR)
    : Math.ceil(limit * (is_growing_fast ? 2 : TRY_FACTOR))
  const chosen = Math.min(all, Math.max(1, next))
  if (chosen === limit) {
    width.is_growing_fast = false
    return
  }
  width.tried_from = limit
  width.limit = chosen
}
