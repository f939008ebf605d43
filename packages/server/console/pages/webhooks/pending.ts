import { useEffect } from 'preact/hooks'

const CHECK_MS = 500

/** Loads again while deliveries are pending and the tab is shown. `data`: the loaded data. */
export function usePendingReload(
  data: unknown,
  deliveries: Parameters<typeof readAgainAt>[0] = [],
  reload: () => void,
): void {
  useEffect(() => {
    let at_ms = readAgainAt(deliveries, Date.now())
    if (at_ms === null) return
    let wait_ms = DUE_MS
    const timer = setInterval(() => {
      if (document.hidden || Date.now() < (at_ms ?? 0)) return
      // An error leaves the data as they are, so this is the wait after one.
      wait_ms = Math.min(wait_ms * 2, LATER_MAX_MS)
      at_ms = Date.now() + wait_ms
      reload()
    }, CHECK_MS)
    return () => clearInterval(timer)
  }, [data])
}

interface Attempted {
  status: string
  next_attempt_at: string | null
}

/** How often deliveries are read while one is due: events say nothing about attempts. */
const DUE_MS = 2_500

/** A later attempt may come before its time, because a member or the receiver asked for it. */
const LATER_MAX_MS = 30_000

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
