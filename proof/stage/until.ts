import { setTimeout as pause } from 'node:timers/promises'

/** Checks repeatedly until the check is true; resolves with false if it is not within `max_ms`. */
export async function until(
  check: () => boolean | Promise<boolean>,
  { max_ms = Infinity, every_ms = 10 }: { max_ms?: number; every_ms?: number } = {},
): Promise<boolean> {
  const end = performance.now() + max_ms
  while (!(await check())) {
    if (performance.now() > end) return false
    await pause(every_ms)
  }
  return true
}
