import { useEffect } from 'preact/hooks'
import { DUE_MS, LATER_MAX_MS, readAgainAt } from './read-again.ts'

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
