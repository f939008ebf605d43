/** Functions that are called when something happened. */
export interface Listeners {
  /** Adds a listener; returns a function that removes it. */
  add(listener: () => void): () => void
  /** Calls each listener. */
  call(): void
}

export function createListeners(): Listeners {
  const listeners = new Set<() => void>()
  return {
    add(listener) {
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
      }
    },
    call() {
      for (const listener of listeners) listener()
    },
  }
}
