import type { Core } from '@svc/core'
import type { Channel } from '@svc/core/contract'
import type { Overview, Troubles } from '@svc/core/operate'
import { pause } from '../connect/polling.ts'

/** The state of the service at one moment. */
export interface Reading {
  overview: Overview
  troubles: Troubles
}

/** Reads once, with at most `limit` failing webhooks and `limit` failed messages. */
export async function readOnce(
  { overviews }: Pick<Core, 'overviews'>,
  { limit, channel }: { limit: number; channel: Channel | null },
): Promise<Reading> {
  const [overview, troubles] = await Promise.all([
    overviews.overview(),
    overviews.troubles(limit, { channel: channel ?? undefined }),
  ])
  return { overview, troubles }
}

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
