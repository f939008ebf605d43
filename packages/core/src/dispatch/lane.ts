import type { Log } from '../runtime/runtime.ts'
import type { Telemetry } from '../runtime/telemetry.ts'
import { uptimeMs } from './uptime.ts'

/** One kind of background work: what to claim, and what to do with it. */
export interface Lane<Item> {
  name: 'messages' | 'deliveries'
  /** How many items may be in flight at once. */
  slots: number
  /** How many one claim takes at the most. */
  batch: number
  claim(limit: number): Promise<Item[]>
  /**
   * Sees the items through to a written result. Says `done` of each part as it ends, so that a slow one holds no slots
   * but its own; and `look` where more may be claimed before that.
   * @param claimed_ms when the claim began, by `uptimeMs`: the leases end no sooner than their length after it
   */
  run(
    items: Item[],
    done: (count: number) => void,
    look: () => void,
    claimed_ms: number,
  ): Promise<void>
}

export interface RunningLane {
  /** There may be something due: look now, not at the next poll. */
  wake(): void
  /** Whether the last look found nothing due and nothing is in flight. */
  isQuiet(): boolean
  /** Resolves at the next quiet moment. */
  quiet(): Promise<void>
  /** Claims no more and resolves when nothing is in flight, or after `grace_ms`. */
  stop(grace_ms: number): Promise<void>
}

/** What falls due without a wake-up (retries, schedules, other processes' work) is found this late at the most. */
const POLL_MS = 250

/** After a failed claim, so that a database that is down is not hammered. */
const FAULT_PAUSE_MS = 1_000

/** Claims and runs until stopped. */
export function startLane<Item>(lane: Lane<Item>, log: Log, telemetry?: Telemetry): RunningLane {
  let inFlight = 0
  let stopping = false
  let woken = true
  let quiet = false
  let ring: () => void = () => {}
  const waiters: (() => void)[] = []

  function wake(): void {
    woken = true
    quiet = false
    ring()
  }

  /** Until somebody wakes the lane; or `ms`. */
  async function sleep(ms: number): Promise<void> {
    if (woken || stopping) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      ring = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    ring = () => {}
  }

  function launch(items: Item[], claimed_ms: number): void {
    let left = items.length
    inFlight += left
    const done = (count: number) => {
      left -= count
      inFlight -= count
      wake()
    }
    lane
      .run(items, done, wake, claimed_ms)
      .catch((error) => log.error({ err: error, lane: lane.name }, 'background work failed'))
      .finally(() => {
        if (left > 0) done(left)
      })
  }

  async function look(): Promise<void> {
    const limit = Math.min(lane.slots - inFlight, lane.batch)
    woken = false
    if (limit <= 0) return sleep(POLL_MS)
    try {
      const claimed_ms = uptimeMs()
      const began = performance.now()
      const items = await lane.claim(limit)
      telemetry?.claimed(lane.name, items.length, performance.now() - began)
      if (items.length > 0) launch(items, claimed_ms)
      // A full batch means that more is waiting.
      if (items.length === limit) return
    } catch (error) {
      log.error({ err: error, lane: lane.name }, 'claiming failed')
      woken = false
      return sleep(FAULT_PAUSE_MS)
    }
    if (!woken && inFlight === 0) {
      quiet = true
      for (const waiter of waiters.splice(0)) waiter()
    }
    await sleep(POLL_MS)
  }

  const ended = (async () => {
    while (!stopping) await look()
  })()

  return {
    wake,
    isQuiet: () => quiet,
    quiet: () => (quiet ? Promise.resolve() : new Promise((resolve) => waiters.push(resolve))),
    async stop(grace_ms) {
      stopping = true
      ring()
      await ended
      const until = performance.now() + grace_ms
      while (inFlight > 0 && performance.now() < until) {
        woken = false
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, Math.max(1, until - performance.now()))
          ring = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
    },
  }
}
