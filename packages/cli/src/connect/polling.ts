import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Waits `ms`, or less when `signal` aborts.
 */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await sleep(ms, undefined, signal ? { signal } : {}).catch(() => {})
}

/** How long a refusal asks to be left alone; null when the error is no such refusal. */
export function retryAfterMs(error: unknown): number | null {
  const { code, retry_after_s } = error as { code?: unknown; retry_after_s?: number }
  return code === 'rate_limit_exceeded' ? (retry_after_s ?? 1) * 1000 : null
}

/** Nobody answers, or whoever does is not the server in its right mind: a proxy, or a fault of its own. */
export function isOutage(error: unknown): boolean {
  const { code } = error as { code?: unknown }
  return code === 'unreachable' || code === 'internal_error'
}
