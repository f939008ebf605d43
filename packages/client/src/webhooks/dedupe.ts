/**
 * `claimed`: handle it now. `busy`: another caller is handling it, or the store has no room: the
 * answer is 503, and the sender retries. `done`: it was handled.
 */
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

/**
 * Creates a store in memory for `ids_max` events; default: 100,000. It forgets the oldest handled
 * events. It keeps every event whose function runs, and while `ids_max` functions run, `claim`
 * returns `busy` for other events.
 */
export function createMemoryStore({ ids_max = IDS_MAX }: { ids_max?: number } = {}): DedupeStore {
  const busy = new Set<string>()
  const done = new Set<string>()

  /** Forgets handled events, the oldest first, until there are at most `ids_max` events. */
  function forget(): void {
    for (const oldest of done) {
      if (busy.size + done.size <= ids_max) break
      done.delete(oldest)
    }
  }

  return {
    claim(event_id) {
      if (done.has(event_id)) return 'done'
      if (busy.has(event_id) || busy.size >= ids_max) return 'busy'
      busy.add(event_id)
      forget()
      return 'claimed'
    },
    complete(event_id) {
      if (busy.delete(event_id)) done.add(event_id)
    },
    release(event_id) {
      busy.delete(event_id)
    },
  }
}
