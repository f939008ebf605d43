/**
 * How many deliveries one receiver may have under way: more while it answers well, fewer while it struggles, one now and
 * then while it is dead. Plain data and pure functions; times are milliseconds.
 */
export interface Receiver {
  workspace_id: string
  in_flight: number
  /** How many it may have at once. */
  limit: number
  /** Until its first trouble the limit doubles with each round; from then on each round adds one. */
  is_growing_fast: boolean
  /** The fastest answer, slowly forgotten: what `slow` is measured against. */
  fastest_ms: number | null
  has_answered: boolean
  /** Time-outs, failed connections and 5xx in a row. */
  failures: number
  /** How many probes have failed since the breaker opened, and one; 0 while it is closed. */
  opened: number
  /** Nothing is sent before: the next probe, or what a `Retry-After` asked for. */
  waits_until: number
  /** Trouble of what began before this was answered for already. */
  lowered_at: number
  touched_at: number
}

/** What a try told of its receiver. */
export interface ReceiverAnswer {
  status: number | null
  error: string | null
  retry_after_ms: number | null
  duration_ms: number
}

export const LIMIT_START = 8
export const LIMIT_MAX = 256

/** One that never answers sooner than this would hold many slots for long; it gets at most so many. */
const LONG_MS = 5_000
const LIMIT_LONG = 32

/** So many failures in a row open the breaker. */
const OPENS_AFTER = 5

/** How long until the next probe. */
const PROBE_AFTER_MS: readonly number[] = [30_000, 60_000, 120_000, 300_000]

/** A `Retry-After` holds back all that waits for a receiver for so long at the most; its own delivery for longer. */
const PAUSE_MAX_MS = 60 * 60_000

/** An answer is slow past this, and past so many times the fastest. */
const SLOW_MS = 1_000
const SLOW_TIMES = 4

/** By how much the fastest answer is forgotten with each answer. */
const FORGETS = 1.001

/** A receiver of which nothing is known. */
export function newReceiver(workspace_id: string): Receiver {
  return {
    workspace_id,
    in_flight: 0,
    limit: LIMIT_START,
    is_growing_fast: true,
    fastest_ms: null,
    has_answered: false,
    failures: 0,
    opened: 0,
    waits_until: 0,
    lowered_at: 0,
    touched_at: 0,
  }
}

/** How many more it may have now. */
export function roomOf(receiver: Receiver, at: number): number {
  if (at < receiver.waits_until) return 0
  const limit = receiver.opened > 0 ? 1 : receiver.limit
  return Math.max(0, Math.floor(limit) - receiver.in_flight)
}

/** Whether its breaker is open, so that what it is sent is a probe. */
export function isOpen({ opened }: Receiver): boolean {
  return opened > 0
}

/** Somebody says that it is repaired: while the breaker is open, the next probe is due at once. */
export function hurry(receiver: Receiver): void {
  if (receiver.opened > 0) receiver.waits_until = 0
}

/** Takes note of how one try ended that began at `began`. `is_probe`: it was sent while the breaker was open. */
export function noteAnswer(
  receiver: Receiver,
  answer: ReceiverAnswer,
  { began, at, is_probe }: { began: number; at: number; is_probe: boolean },
): void {
  const { status, retry_after_ms } = answer
  const isAsked = status === 429 || status === 503
  if (isAsked && retry_after_ms !== null) {
    const until = at + Math.min(retry_after_ms, PAUSE_MAX_MS)
    receiver.waits_until = Math.max(receiver.waits_until, until)
  }
  if (isDead(answer)) {
    noteFailure(receiver, status, { began, at, is_probe })
    return
  }
  receiver.has_answered = true
  // What was sent before the breaker opened and answers now shows as well as a probe that the receiver is there.
  if (receiver.opened > 0) close(receiver, isAsked)
  receiver.failures = 0
  const isSlow = noteTime(receiver, answer.duration_ms)
  if (status === 429) lower(receiver, 0.5, began, at)
  else if (isSlow) lower(receiver, 0.75, began, at)
  // Who acknowledges nothing may never have asked for webhooks.
  else if (status !== null && status < 300) raise(receiver)
}

/** No answer, or one that says that the receiver cannot work. */
function isDead({ status, error }: ReceiverAnswer): boolean {
  if (status === null) return error !== 'blocked_target'
  return status >= 500
}

function noteFailure(
  receiver: Receiver,
  status: number | null,
  { began, at, is_probe }: { began: number; at: number; is_probe: boolean },
): void {
  receiver.failures += 1
  if (receiver.opened > 0) {
    if (!is_probe) return
    receiver.opened += 1
  } else if (receiver.failures >= OPENS_AFTER) {
    receiver.opened = 1
  } else {
    if (status === null || status === 503) lower(receiver, 0.5, began, at)
    return
  }
  const wait = PROBE_AFTER_MS[Math.min(receiver.opened, PROBE_AFTER_MS.length) - 1] as number
  receiver.waits_until = Math.max(receiver.waits_until, at + wait)
}

function close(receiver: Receiver, isAskedToWait: boolean): void {
  receiver.opened = 0
  receiver.limit = LIMIT_START
  receiver.is_growing_fast = true
  if (!isAskedToWait) receiver.waits_until = 0
}

/** Answers whether it was slow. */
function noteTime(receiver: Receiver, duration_ms: number): boolean {
  const before = receiver.fastest_ms ?? duration_ms
  receiver.fastest_ms = Math.min(before * FORGETS, duration_ms)
  return duration_ms > Math.max(SLOW_MS, SLOW_TIMES * before)
}

/** Once for each round: what was under way together tells of the same trouble. */
function lower(receiver: Receiver, factor: number, began: number, at: number): void {
  if (began < receiver.lowered_at) return
  receiver.lowered_at = at
  receiver.is_growing_fast = false
  receiver.limit = Math.max(1, receiver.limit * factor)
}

/** Only what is used grows: of what a receiver does not fill nothing is known. */
function raise(receiver: Receiver): void {
  if (receiver.in_flight * 2 < receiver.limit) return
  const more = receiver.is_growing_fast ? 1 : 1 / receiver.limit
  const max = (receiver.fastest_ms ?? 0) > LONG_MS ? LIMIT_LONG : LIMIT_MAX
  receiver.limit = Math.min(max, receiver.limit + more)
}
