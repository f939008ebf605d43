/** A message is late if no worker claims it for longer than this time. */
export const MESSAGE_LATE_MS = 60_000

/**
 * A delivery is late if no worker claims it for longer than this time: the open circuit breaker of a receiver delays its
 * due deliveries for at most five minutes.
 */
export const DELIVERY_LATE_MS = 6 * 60_000

/** The time since the oldest item of a queue is due; 0 if none is due. */
export function dueSinceMs(at: Date, { oldest_due_at }: { oldest_due_at: Date | null }): number {
  return oldest_due_at ? at.getTime() - oldest_due_at.getTime() : 0
}
