import type { NEXT_ATTEMPT_REASONS } from '../contract/resources/next-attempt.ts'
import type { DeliveryRow } from '../rows/rows.ts'

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
