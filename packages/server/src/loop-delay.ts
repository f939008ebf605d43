/** Between two looks at the clock. */
const SAMPLE_MS = 100

/** So many looks in a row have to find the loop late: one long piece of work is no overload. */
const SAMPLES = 5

/** Measures how late the event loop is. */
export interface LoopDelay {
  /** To be called when `SAMPLE_MS` have passed since the last time, as the loop counts. */
  sample(): void
  /** The least that the last looks found, in milliseconds: so late is everything. */
  readonly delay_ms: number
}

/** Measures by a clock that counts in milliseconds and never goes back. */
export function createLoopDelay(now: () => number): LoopDelay {
  const found = new Float64Array(SAMPLES)
  let next = 0
  let delay_ms = 0
  let due = now() + SAMPLE_MS
  return {
    sample() {
      const at = now()
      found[next] = Math.max(0, at - due)
      next = (next + 1) % SAMPLES
      due = at + SAMPLE_MS
      delay_ms = Math.min(...found)
    },
    get delay_ms() {
      return delay_ms
    },
  }
}

/** Measures this process until it is told to stop; keeps no process alive. */
export function watchLoopDelay(): { readonly delay_ms: number; stop(): void } {
  const delay = createLoopDelay(() => performance.now())
  const timer = setInterval(() => delay.sample(), SAMPLE_MS).unref()
  return {
    get delay_ms() {
      return delay.delay_ms
    },
    stop: () => clearInterval(timer),
  }
}
