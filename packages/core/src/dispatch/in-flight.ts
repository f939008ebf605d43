/** The messages in flight to each provider, and whether the provider is slow. */
export interface InFlight {
  /** Counts a call; the caller calls the returned function when the call ends. */
  began(provider: string, messages: number): () => void
  /** Whether the provider is slow and has its maximum of messages in flight, counting `more` that are about to start. */
  isFull(provider: string, more?: number): boolean
}

/** A provider is slow after a call that took longer than this, until a faster call ends. */
const SLOW_MS = 5_000

/**
 * @param max maximum messages in flight to a slow provider. Without it, a provider that hangs with a long backlog would
 *   take all slots, and the messages of other providers would wait.
 */
export function createInFlight({ max, elapsed }: { max: number; elapsed: () => number }): InFlight {
  interface Calls {
    messages: number
    /** The starts of the calls in flight, the oldest first. */
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
