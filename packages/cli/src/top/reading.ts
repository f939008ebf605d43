import type { Reading } from '@svc/core/operate'
import { pause } from '../connect/polling.ts'

/**
 * Reads every `interval_ms` until `signal` aborts, one reading after the other. After a slow reading it waits as long
 * as the reading took. It continues after a failed reading.
 */
export async function keepReading(
  read: () => Promise<Reading>,
  {
    interval_ms,
    signal,
    onReading,
    onOutage,
  }: {
    interval_ms: number
    signal: AbortSignal
    onReading: (reading: Reading) => void
    onOutage: (error: unknown) => void
  },
): Promise<void> {
  while (!signal.aborted) {
    const began = performance.now()
    const found = await read().then(
      (reading) => ({ reading }),
      (error: unknown) => ({ error }),
    )
    if (signal.aborted) return
    if ('reading' in found) onReading(found.reading)
    else onOutage(found.error)
    const took_ms = performance.now() - began
    await pause(Math.max(interval_ms - took_ms, took_ms), signal)
  }
}
