/** `claimed`: handle it now. `busy`: someone is handling it. `done`: it was handled. */
export type Claim = 'claimed' | 'busy' | 'done'

/**
 * Remembers which events were handled. One in memory serves a single process until it ends; give one of your own, in Redis
 * or your database, where there are several.
 */
export interface DedupeStore {
  /** Takes the event. Of several at once exactly one may get `claimed`. */
  claim(event_id: string): Claim | Promise<Claim>
  /** Handling worked: from now on `claim` answers `done`. */
  complete(event_id: string): void | Promise<void>
  /** Handling failed: the next `claim` gets it. One that was claimed and never let go, as in a crash, must expire by itself. */
  release(event_id: string): void | Promise<void>
}

/** An event is tried for about three days; what is older than the newest so many may be handled twice. */
const IDS_MAX = 100_000

/** A store in memory that forgets the oldest of more than `ids_max` events, 100,000 unless told. */
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
