import { setTimeout as sleep } from 'node:timers/promises'

/** Waits `ms`, or until `signal` aborts. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await sleep(ms, undefined, signal ? { signal } : {}).catch(() => {})
}

/** The wait that a rate limit error asks for (`Retry-After`); null for any other error. */
export function retryAfterMs(error: unknown): number | null {
  const { code, retryAfter } = error as { code?: unknown; retryAfter?: number | null }
  return code === 'rate_limit_exceeded' ? (retryAfter ?? 1) * 1000 : null
}

/** The codes of the client's errors for a server that does not answer, or fails. */
const OUTAGES = new Set<unknown>([
  'connection_failed',
  'timeout',
  'internal_error',
  'unexpected_answer',
])

/** Whether the server is unreachable or fails. A proxy may answer in place of the server. */
export function isOutage(error: unknown): boolean {
  const { code } = error as { code?: unknown }
  return OUTAGES.has(code)
}
