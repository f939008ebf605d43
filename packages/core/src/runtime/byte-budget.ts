/** A bound for the bytes that are in memory at once. */
export interface ByteBudget {
  /**
   * Waits until `bytes` fit, in the order of the calls; more bytes than the whole budget wait until nothing else is reserved.
   * Returns the function that gives them back. `signal` ends the wait: the promise then rejects.
   */
  reserve(bytes: number, signal?: AbortSignal): Promise<() => void>
}

/** A budget of `max` bytes. */
export function createByteBudget(max: number): ByteBudget {
  let reserved = 0
  const waiting = new Set<{ bytes: number; start: () => void }>()

  function startNext(): void {
    for (const next of waiting) {
      if (reserved > 0 && reserved + next.bytes > max) return
      waiting.delete(next)
      reserved += next.bytes
      next.start()
    }
  }

  return {
    async reserve(bytes, signal) {
      signal?.throwIfAborted()
      await new Promise<void>((resolve, reject) => {
        const next = { bytes, start: resolve }
        signal?.addEventListener('abort', () => {
          if (!waiting.delete(next)) return
          reject(signal.reason)
          startNext()
        })
        waiting.add(next)
        startNext()
      })
      let isReserved = true
      return () => {
        if (!isReserved) return
        isReserved = false
        reserved -= bytes
        startNext()
      }
    },
  }
}
