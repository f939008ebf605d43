import { setTimeout as sleep } from 'node:timers/promises'

/** Waits `ms`, or until `signal` aborts. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await sleep(ms, undefined, signal ? { signal } : {}).catch(() => {})
}

/** The wait that a rate limit error asks for (`Retry-After`); null for any other error. */
export function retryAfterMs(error: unknown): number | null {
  const { code, retry_after_s } = error as { code?: unknown; retry_after_s?: number }
  return code === 'rate_limit_exceeded' ? (retry_after_s ?? 1) * 1000 : null
}

/** Whether the server is unreachable or fails. A proxy may answer in place of the server. */
export function isOutage(error: unknown): boolean {
  const { code } = error as { code?: unknown }
  return code === 'unreachable' || code === 'internal_error'
}
