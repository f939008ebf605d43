/** The time between two samples. */
const SAMPLE_MS = 100

/** The delay counts only if this number of samples in a row is late, because one long task is not an overload. */
const SAMPLES = 5

/** Measures the delay of the event loop. */
export interface LoopDelay {
  /** Takes a sample; the event loop calls it every `SAMPLE_MS`. */
  sample(): void
  /** The smallest delay of the last samples, in milliseconds. */
  readonly delay_ms: number
}

/** @param now milliseconds of a monotonic clock */
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

/** Measures this process until `stop`; it does not keep the process alive. */
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
