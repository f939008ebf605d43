import { CLIENT_BITS, networkOf } from '../contract/fields/client-network.ts'
import { type Quotas, WEBHOOK_RETRY_DELAYS_S, WEBHOOK_RETRY_JITTER } from '../contract/limits.ts'
import type { NEXT_ATTEMPT_REASONS } from '../contract/resources/next-attempt.ts'
import type { DeliveryRow, ReceiverHostRow } from '../rows/rows.ts'

export const MAX_ATTEMPTS = WEBHOOK_RETRY_DELAYS_S.length

/** The longest time that all tries of a delivery take, without a `Retry-After`. */
export const SCHEDULE_MS =
  WEBHOOK_RETRY_DELAYS_S.reduce((sum, delay_s) => sum + delay_s, 0) *
  1000 *
  (1 + WEBHOOK_RETRY_JITTER)

const RETRY_AFTER_MAX_MS = 24 * 60 * 60 * 1000

/**
 * The wait after failed try number `attempt` (from 1), or null after the last try; 0 stands for a try that is to be
 * repeated at once. Jitter and a `Retry-After` only lengthen the wait.
 */
export function nextWaitMs(
  attempt: number,
  retryAfterMs: number | null,
  random: () => number,
): number | null {
  const delay_s = WEBHOOK_RETRY_DELAYS_S[attempt]
  if (delay_s === undefined) return null
  const step = delay_s * 1000
  const requested = Math.min(Math.max(retryAfterMs ?? 0, 0), RETRY_AFTER_MAX_MS)
  return Math.round(Math.max(step, requested) + random() * WEBHOOK_RETRY_JITTER * step)
}

/** Why a delivery is attempted at its next time, and not before. */
export interface NextAttempt {
  next_attempt_at: Date | null
  next_attempt_reason: (typeof NEXT_ATTEMPT_REASONS)[number] | null
}

/**
 * When a delivery is attempted next. `waits_until`: the time before which its receiver gets nothing, because it failed several
 * times in a row or asked to wait.
 */
export function nextAttempt(
  { next_attempt_at: at, attempt_count }: Pick<DeliveryRow, 'next_attempt_at' | 'attempt_count'>,
  { waits_until, now }: { waits_until: Date | null; now: Date },
): NextAttempt {
  if (at === null) return { next_attempt_at: null, next_attempt_reason: null }
  if (waits_until !== null && waits_until > at && waits_until > now) {
    return { next_attempt_at: waits_until, next_attempt_reason: 'receiver_unavailable' }
  }
  return { next_attempt_at: at, next_attempt_reason: attempt_count > 0 ? 'retry' : 'due' }
}

/** The limits of the deliveries about a workspace's test messages, which cost nothing. */
export type TestDeliveryQuotas = Pick<
  Quotas,
  'test_deliveries_per_day' | 'test_deliveries_per_second'
>

/** The `error` of a discarded delivery about a test message: the workspace used up its attempts of the day. */
export const TEST_LIMIT = 'test_limit'

/** The seconds of the pace that may begin at once. */
const BURST_S = 20
const WORKSPACES_MAX = 10_000

/**
 * Says when a new delivery about a test message is due: at once for the first ones of a workspace, then at the pace. The pace
 * counts by `elapsed` (`Runtime.elapsed`), because the clock may be set back.
 */
export type TestPace = (workspaceId: string, at: Date) => Date

export function createTestPace(per_second: number, elapsed: () => number): TestPace {
  const step_ms = 1_000 / per_second
  /** When the deliveries of each workspace until now would have ended at the pace. */
  const ends = new Map<string, number>()
  return (workspaceId, at) => {
    const now_ms = elapsed()
    const end = Math.max(ends.get(workspaceId) ?? 0, now_ms) + step_ms
    ends.delete(workspaceId)
    ends.set(workspaceId, end)
    const [oldest] = ends.keys()
    if (ends.size > WORKSPACES_MAX && oldest !== undefined) ends.delete(oldest)
    return new Date(at.getTime() + Math.max(0, Math.round(end - BURST_S * 1_000 - now_ms)))
  }
}

/**
 * A webhook that never got a 2xx waits at the gate of its host: one delivery is in flight to the host, over all workspaces,
 * and each answer but a 2xx counts as a failure of the host. Its owner may never have asked for webhooks.
 */

/** The name of the host of a URL, without the port. */
export function gateHostOf(url: string): string {
  return new URL(url).hostname.replace(/\.$/, '')
}

/**
 * The name of the gate of an address: an IPv4 address, or an IPv6 /64. After its first failed attempt a webhook waits there, because
 * one server can have any number of names. Servers of a shared address share its gate only until their first 2xx.
 */
export function gateOfAddress(address: string): string | null {
  return networkOf(address, CLIENT_BITS)?.replace(/\/32$/, '') ?? null
}

/** A webhook without a 2xx in this number of attempts in a row returns to the gate: its host may have a new owner. */
export const GATE_CLOSES_AFTER = 200

/** The number of failures in a row from which on the host waits, and each of these waits. */
const WAITS_AFTER = 5
const WAITS_MS: readonly number[] = [30_000, 60_000, 120_000, 300_000]

/** The number of webhooks at gates that one claim looks at; the next claim continues after them. */
export const GATES_MAX = 2_000

/** The failures of a host are forgotten after this time without an attempt. */
export const GATE_FORGETS_MS = 24 * 3_600_000

/** A time at the gate that is further away than this, twice the longest wait, was written by a clock that was ahead. */
export const GATE_WAIT_MAX_MS = 600_000

/**
 * The host after an attempt at its gate that began `at`; its waits count from then. A 2xx clears the failures, because the host
 * takes webhooks, but it confirms one webhook and not the others. `succeeded` is null if the result is not known.
 */
export function hostAfter(
  { host, failures: before, waits_until }: ReceiverHostRow,
  { succeeded, at }: { succeeded: boolean | null; at: Date },
): ReceiverHostRow {
  if (succeeded === null) return { host, failures: before, held_until: null, waits_until }
  const isForgotten = succeeded || at.getTime() - waits_until.getTime() > GATE_FORGETS_MS
  const failures = (isForgotten ? 0 : before) + (succeeded ? 0 : 1)
  const step = Math.min(failures - WAITS_AFTER, WAITS_MS.length - 1)
  const wait_ms = WAITS_MS[step] ?? 0
  return { host, failures, held_until: null, waits_until: new Date(at.getTime() + wait_ms) }
}
