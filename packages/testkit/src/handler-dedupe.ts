/** `claimed`: handle it now. `busy`: another caller is handling it. `done`: it was handled. */
export type Claim = 'claimed' | 'busy' | 'done'

/**
 * Remembers which events were handled. The store in memory serves one process until it ends. For
 * several processes, supply your own store, in Redis or your database.
 */
export interface DedupeStore {
  /** Claims the event. Of concurrent callers exactly one may get `claimed`. */
  claim(event_id: string): Claim | Promise<Claim>
  /** Called after success. From then on `claim` must return `done`. */
  complete(event_id: string): void | Promise<void>
  /**
   * Called after a failure. The next `claim` must return `claimed`. A claim that is never
   * released, for example after a crash, must expire by itself.
   */
  release(event_id: string): void | Promise<void>
}

/**
 * Events are retried for about three days. An event may be handled twice if 100,000 newer events
 * arrived before its retry.
 */
const IDS_MAX = 100_000

/** Creates a store in memory for the newest `ids_max` events; default: 100,000. */
export function createMemoryStore({ ids_max = IDS_MAX }: { ids_max?: number } = {}): DedupeStore {
  const claims = new Map<string, 'busy' | 'done'>()
  return {
    claim(event_id) {
      const known = claims.get(event_id)
      if (known) return known
      claims.set(event_id, 'busy')
      for (const oldest of claims.keys()) {
        if (claims.size <= ids_max) break
        claims.delete(oldest)
      }
      return 'claimed'
    },
    complete(event_id) {
      if (claims.has(event_id)) claims.set(event_id, 'done')
    },
    release(event_id) {
      claims.delete(event_id)
    },
  }
}
