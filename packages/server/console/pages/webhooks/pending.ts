import { useEffect } from 'preact/hooks'
import { DUE_MS, readAgainAt } from './read-again.ts'

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
    const timer = setInterval(() => {
      if (document.hidden || Date.now() < (at_ms ?? 0)) return
      // Also after an error, which leaves the data as they are.
      at_ms = Date.now() + DUE_MS
      reload()
    }, CHECK_MS)
    return () => clearInterval(timer)
  }, [data])
}
