import type { LookupJob, SendJob } from '../../contract/outside/provider.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS

/** The default lag of lists. Source: twilio-java issue 442, twilio-node issue 647. */
const LIST_LAG_S = 180

/** Whether the absence of a message from a list proves that Twilio never accepted the message. */
export function isListSettled(
  { now_ms, attempted_at_ms, unknown_since_ms = attempted_at_ms }: LookupJob,
  list_lag_s = LIST_LAG_S,
): boolean {
  return now_ms - unknown_since_ms >= list_lag_s * SECOND_MS
}

/** Callbacks arrive within seconds; a later look-up finds the result of a lost callback. */
const WITH_CALLBACKS_MS = 5 * MINUTE_MS
const WITHOUT_CALLBACKS_MS = 15 * SECOND_MS
const POLL_MAX_MS = 2 * HOUR_MS

/** Carriers that confirm deliveries do so within two days. A callback may still arrive later. */
const POLL_END_MS = 48 * HOUR_MS

/** The time until the first look-up. A call is looked up after its latest possible end. */
export function firstPollMs(
  { channel, max_duration_s }: SendJob,
  { has_callbacks, ring_timeout_s }: { has_callbacks: boolean; ring_timeout_s: number },
): number {
  if (!has_callbacks) return WITHOUT_CALLBACKS_MS
  if (channel !== 'voice') return WITH_CALLBACKS_MS
  return (ring_timeout_s + (max_duration_s ?? 0)) * SECOND_MS + MINUTE_MS
}

/** The wait before the next look-up. It equals the time since the attempt, so waits double. Null after the last one. */
export function pollAfterMs(
  { now_ms, attempted_at_ms }: LookupJob,
  has_callbacks: boolean,
): number | null {
  const passed_ms = now_ms - attempted_at_ms
  if (passed_ms >= POLL_END_MS) return null
  const least_ms = has_callbacks ? WITH_CALLBACKS_MS : WITHOUT_CALLBACKS_MS
  return Math.min(Math.max(passed_ms, least_ms), POLL_MAX_MS)
}
