/** Where a sender has the time from, and how it waits. */
export interface Clock {
  now(): Date
  sleep(ms: number): Promise<void>
}

/** A clock that stands still until it is moved. */
export interface FakeClock extends Clock {
  /** Moves the clock. */
  advance(ms: number): void
  /** How long each wait was, in milliseconds, in their order. */
  readonly sleeps: readonly number[]
}

/**
 * A clock that stands still; whoever sleeps moves it at once by as much, so three days of retries pass in no time. The
 * deliveries are dated by it: a receiver that looks at timestamps must be given the same clock (`now`).
 */
export function fakeClock(at: Date = new Date()): FakeClock {
  let ms = at.getTime()
  const sleeps: number[] = []
  return {
    sleeps,
    now: () => new Date(ms),
    advance(by_ms) {
      ms += by_ms
    },
    async sleep(by_ms) {
      sleeps.push(by_ms)
      ms += by_ms
    },
  }
}

/** The real time, with waits that are skipped: timestamps are right for a receiver that has a clock of its own. */
export const impatientClock: Clock = { now: () => new Date(), sleep: async () => {} }

/** The real time, and real waits. */
export const patientClock: Clock = {
  now: () => new Date(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
}
