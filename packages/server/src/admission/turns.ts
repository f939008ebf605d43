/** How many requests begin in one turn of the event loop; they take about 10 ms. */
const PER_TURN = 64

/**
 * Lets requests begin in their order, a few in each turn of the event loop. Between two turns the process reads other
 * requests, and answers requests that wait for no turn (health). The wait for a turn measures the overload.
 */
export interface Turns {
  /** Resolves when the request may begin; undefined if it may begin at once. */
  next(): Promise<void> | undefined
  /** How long the latest request waited for its turn, in milliseconds. */
  readonly delay_ms: number
}

/**
 * @param now milliseconds of a monotonic clock
 * @param per_turn how many requests begin in one turn of the event loop; default 64
 */
export function createTurns({
  now = () => performance.now(),
  per_turn = PER_TURN,
}: {
  now?: () => number
  per_turn?: number
} = {}): Turns {
  interface Waiting {
    since: number
    begin: () => void
  }
  let waiting: Waiting[] = []
  let begun = 0
  let isScheduled = false
  let delay_ms = 0

  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    setImmediate(turn)
  }

  function turn(): void {
    isScheduled = false
    const due = waiting.slice(0, per_turn)
    waiting = waiting.slice(per_turn)
    begun = due.length
    delay_ms = due[0] ? now() - due[0].since : 0
    for (const { begin } of due) begin()
    // More requests may wait. The next turn lets them begin, or finds none.
    if (begun > 0) schedule()
  }

  return {
    next() {
      schedule()
      if (waiting.length === 0 && begun < per_turn) {
        begun += 1
        return undefined
      }
      return new Promise((begin) => waiting.push({ since: now(), begin }))
    },
    get delay_ms() {
      return delay_ms
    },
  }
}
