/** The source of a sender's time and waits. */
export interface Clock {
  now(): Date
  sleep(ms: number): Promise<void>
}

/** A clock that stands still until a caller moves it. */
export interface FakeClock extends Clock {
  /** Moves the clock. */
  advance(ms: number): void
  /** Each wait in milliseconds, in order. */
  readonly sleeps: readonly number[]
}

/**
 * A clock that stands still. `sleep` moves it at once, so three days of retries take no time.
 * Deliveries carry its time: give a receiver that checks timestamps the same clock (`now`).
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

/** A clock with the real time and without waits, so timestamps are valid for other clocks. */
export const impatientClock: Clock = { now: () => new Date(), sleep: async () => {} }

/** A clock with the real time and real waits. */
export const patientClock: Clock = {
  now: () => new Date(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
}
