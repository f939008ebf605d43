/** The numbers of messages of a bulk; `failed` includes canceled ones. */
interface Numbers {
  queued: number
  failed: number
  canceled: number
}

/**
 * The state of a bulk for people: `scheduled` before its first message is due, `paused` while a pause holds queued messages, and in the
 * end how its messages ended. The API calls each bulk without queued messages `completed`.
 */
export function stateOf(
  { status, accepted, paused_at }: { status: string; accepted: number; paused_at: string | null },
  { queued, failed, canceled }: Numbers,
  scheduled_at: string | null,
): string {
  if (queued > 0 && paused_at !== null) return 'paused'
  if (queued > 0) return status === 'queued' && isLater(scheduled_at) ? 'scheduled' : status
  if (failed > 0 && failed === accepted) return canceled * 2 >= failed ? 'canceled' : 'failed'
  const undelivered = failed - canceled
  if (undelivered > 0 && undelivered * 2 >= accepted) return 'mostly_failed'
  return canceled > 0 ? 'partly_canceled' : status
}

/** Whether a time is in the future. */
export function isLater(at: string | null): boolean {
  return Date.parse(at ?? '') > Date.now()
}
