import type { Report } from '../../contract/outside/provider.ts'

const AGAIN_MS = 1000
const TRIES_MAX = 300
const OPEN_MAX = 5000

type Tell = (report: Report, done: (isStored: boolean) => void) => void

/**
 * Tells what nobody else will tell again, as an answer that came late: until it is stored, or for five minutes. What is told
 * before anybody listens, or beyond what is kept, is lost.
 */
export function createTeller() {
  let tell: Tell | null = null
  const timers = new Set<NodeJS.Timeout>()

  function attempt(report: Report, tries: number): void {
    tell?.(report, (isStored) => {
      if (isStored || !tell || tries >= TRIES_MAX || timers.size >= OPEN_MAX) return
      const timer = setTimeout(() => {
        timers.delete(timer)
        attempt(report, tries + 1)
      }, AGAIN_MS)
      timers.add(timer)
    })
  }

  return {
    open(by: Tell): void {
      tell = by
    },
    tell: (report: Report): void => attempt(report, 1),
    close(): void {
      tell = null
      for (const timer of timers) clearTimeout(timer)
      timers.clear()
    },
  }
}
