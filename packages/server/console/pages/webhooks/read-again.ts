interface Attempted {
  status: string
  next_attempt_at: string | null
}

/** How often deliveries are read while one is due: events say nothing about attempts. */
export const DUE_MS = 2_500

/** A later attempt may come before its time, because a member or the receiver asked for it. */
export const LATER_MAX_MS = 30_000

/**
 * When deliveries are read again, in milliseconds since 1970: soon while one is due or in flight, otherwise when the first is
 * due, and at the latest after 30 s. null: none is pending.
 */
export function readAgainAt(deliveries: readonly Attempted[], now_ms: number): number | null {
  const pending = deliveries.filter(({ status }) => status === 'pending')
  if (pending.length === 0) return null
  const first_ms = Math.min(
    ...pending.map(({ next_attempt_at: at }) => (at === null ? 0 : Date.parse(at))),
  )
  return Math.min(now_ms + LATER_MAX_MS, Math.max(now_ms + DUE_MS, first_ms))
}
