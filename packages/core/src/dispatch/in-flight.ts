/** How much each provider is being asked just now, and whether it is slow to answer. */
export interface InFlight {
  /** The call is over when the answer is called. */
  began(provider: string, messages: number): () => void
  /** Whether a slow provider is asked about as many as it may; `more` are about to follow. */
  isFull(provider: string, more?: number): boolean
}

/** Who answers later than this is slow, until it answers sooner again. */
const SLOW_MS = 5_000

/**
 * @param max how many messages a slow provider is asked about at once: one that hangs, with a long backlog, would else
 *   take all there is room for, and whatever goes another way would wait for it
 */
export function createInFlight({ max, elapsed }: { max: number; elapsed: () => number }): InFlight {
  interface Calls {
    messages: number
    /** When those began that are under way, the oldest first. */
    began: Set<{ at_ms: number }>
    wasSlow: boolean
  }
  const providers = new Map<string, Calls>()

  function isSlow({ began, wasSlow }: Calls): boolean {
    const [oldest] = began
    return wasSlow || (oldest !== undefined && elapsed() - oldest.at_ms >= SLOW_MS)
  }

  return {
    began(provider, messages) {
      const calls = providers.get(provider) ?? { messages: 0, began: new Set(), wasSlow: false }
      providers.set(provider, calls)
      const call = { at_ms: elapsed() }
      calls.began.add(call)
      calls.messages += messages
      return () => {
        if (!calls.began.delete(call)) return
        calls.messages -= messages
        calls.wasSlow = elapsed() - call.at_ms >= SLOW_MS
      }
    },
    isFull(provider, more = 0) {
      const calls = providers.get(provider)
      return calls !== undefined && calls.messages + more >= max && isSlow(calls)
    },
  }
}
