/**
 * The limit of deliveries in flight to one receiver. It rises while the receiver answers well, and falls while it fails or
 * is slow. With an open breaker, only probes are sent. Plain data and pure functions; times are milliseconds.
 */
export interface Receiver {
  workspace_id: string
  in_flight: number
  /** The maximum number of deliveries in flight. */
  limit: number
  /** Each round doubles the limit until the limit is lowered for the first time; after that each round adds one. */
  is_growing_fast: boolean
  /** The duration of the fastest attempt, raised a little with each attempt. It defines which attempt is slow. */
  fastest_ms: number | null
  has_answered: boolean
  /** The number of timeouts, failed connections and 5xx answers in a row. */
  failures: number
  /** 0 while the breaker is closed, otherwise 1 plus the number of probes that failed since the breaker opened. */
  opened: number
  /** The time of the next probe, or the end of a `Retry-After`. Nothing is sent before this time. */
  waits_until: number
  /** When the limit was last lowered. Attempts that began before this time do not lower the limit again. */
  lowered_at: number
  touched_at: number
}

/** The result of one attempt: the receiver's answer, or the error. */
export interface ReceiverAnswer {
  status: number | null
  error: string | null
  retry_after_ms: number | null
  duration_ms: number
}

export const LIMIT_START = 8
export const LIMIT_MAX = 256

/** If the fastest attempt takes longer than this, the receiver holds its slots for long: its limit is at most `LIMIT_LONG`. */
const LONG_MS = 5_000
const LIMIT_LONG = 32

/** The number of failures in a row that opens the breaker. */
const OPENS_AFTER = 5

/** The wait before each probe. */
const PROBE_AFTER_MS: readonly number[] = [30_000, 60_000, 120_000, 300_000]

/** The maximum time that a `Retry-After` stops all deliveries to a receiver. The answered delivery may wait longer. */
const PAUSE_MAX_MS = 60 * 60_000

/** An attempt is slow if it takes longer than this, and longer than `SLOW_TIMES` times the fastest attempt. */
const SLOW_MS = 1_000
const SLOW_TIMES = 4

/** With each attempt, the fastest duration grows by this factor. */
const FORGETS = 1.001

/** A receiver without a history. */
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

/** How many more deliveries may start now. */
export function roomOf(receiver: Receiver, at: number): number {
  if (at < receiver.waits_until) return 0
  const limit = receiver.opened > 0 ? 1 : receiver.limit
  return Math.max(0, Math.floor(limit) - receiver.in_flight)
}

/** Whether the breaker is open, so that the next delivery is a probe. */
export function isOpen({ opened }: Receiver): boolean {
  return opened > 0
}

/** Makes the next probe due at once. Does nothing while the breaker is closed. */
export function probeNow(receiver: Receiver): void {
  if (receiver.opened > 0) receiver.waits_until = 0
}

/** Records the result of an attempt that began at `began`. `is_probe`: whether the breaker was open at that time. */
export function noteAnswer(
  receiver: Receiver,
  answer: ReceiverAnswer,
  { began, at, is_probe }: { began: number; at: number; is_probe: boolean },
): void {
  const { status, retry_after_ms } = answer
  const asksToWait = status === 429 || status === 503
  if (asksToWait && retry_after_ms !== null) {
    const until = at + Math.min(retry_after_ms, PAUSE_MAX_MS)
    receiver.waits_until = Math.max(receiver.waits_until, until)
  }
  if (isDead(answer)) {
    noteFailure(receiver, status, { began, at, is_probe })
    return
  }
  receiver.has_answered = true
  // The attempt need not be a probe: each such answer shows that the receiver works again.
  if (receiver.opened > 0) close(receiver, asksToWait)
  receiver.failures = 0
  const isSlow = noteTime(receiver, answer.duration_ms)
  if (status === 429) lower(receiver, 0.5, began, at)
  else if (isSlow) lower(receiver, 0.75, began, at)
  // Only a 2xx raises the limit: the owner of the address may never have asked for webhooks.
  else if (status !== null && status < 300) raise(receiver)
}

/** Whether there was no answer, or an answer of a receiver that cannot work. */
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

/** Returns whether the attempt was slow. */
function noteTime(receiver: Receiver, duration_ms: number): boolean {
  const before = receiver.fastest_ms ?? duration_ms
  receiver.fastest_ms = Math.min(before * FORGETS, duration_ms)
  return duration_ms > Math.max(SLOW_MS, SLOW_TIMES * before)
}

/** Lowers the limit once a round, because the failures of attempts that were in flight together have the same cause. */
function lower(receiver: Receiver, factor: number, began: number, at: number): void {
  if (began < receiver.lowered_at) return
  receiver.lowered_at = at
  receiver.is_growing_fast = false
  receiver.limit = Math.max(1, receiver.limit * factor)
}

/** A limit that is less than half used does not grow: nothing shows that the receiver could take more. */
function raise(receiver: Receiver): void {
  if (receiver.in_flight * 2 < receiver.limit) return
  const more = receiver.is_growing_fast ? 1 : 1 / receiver.limit
  const max = (receiver.fastest_ms ?? 0) > LONG_MS ? LIMIT_LONG : LIMIT_MAX
  receiver.limit = Math.min(max, receiver.limit + more)
}
