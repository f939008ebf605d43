/** The status for people: a canceled message has failed; a scheduled one, and one that quiet hours defer, is queued. */
export function statusOf({
  status,
  error_code,
  scheduled_at,
  deferred_until,
}: {
  status: string
  error_code: string | null
  scheduled_at?: string | null
  deferred_until?: string
}): string {
  if (error_code === 'canceled') return error_code
  const isLater = Date.parse(scheduled_at ?? '') > Date.now()
  return status === 'queued' && isLater ? (deferred_until ? 'deferred' : 'scheduled') : status
}

/** Whether a message of this status for people is sent later. */
export function isPlanned(status: string): boolean {
  return status === 'scheduled' || status === 'deferred'
}

/** Whether the provider of a queued message may have it: its last call ended without an answer. */
export function isInDoubt(
  status: string,
  timeline: readonly ({ kind: 'provider'; outcome: string } | { kind: string })[],
): boolean {
  const calls = timeline.filter((entry) => 'outcome' in entry)
  return status === 'queued' && calls.at(-1)?.outcome === 'ambiguous'
}
