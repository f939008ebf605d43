import { uptime } from 'node:os'

/**
 * Milliseconds since the machine started, to 10 ms. It is the same in all threads, goes on while the process is stopped or
 * the machine sleeps, and no correction of the clock moves it: what a lease is measured by.
 */
export function uptimeMs(): number {
  return uptime() * 1_000
}
