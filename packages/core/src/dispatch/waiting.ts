/** The webhooks, or the workspaces, of which deliveries may wait in the queue. New deliveries must not overtake these. */
export interface Waiting {
  has(id: string): boolean
  /** Deliveries were queued that no claim holds. */
  mark(id: string): void
  /**
   * Begins a claim. The returned function notes how many deliveries the claim took of each id, whether it took as many
   * as it may in total, and the room that it had for an id.
   */
  beginClaim(): (
    taken: ReadonlyMap<string, number>,
    isFull: boolean,
    roomOf: (id: string) => number,
  ) => void
}

export function createWaiting(): Waiting {
  /** The number of the claim before which, or during which, the deliveries were queued. */
  const marked = new Map<string, number>()
  let claims = 0
  return {
    has: (id) => marked.has(id),
    mark(id) {
      marked.set(id, claims)
    },
    beginClaim() {
      claims += 1
      const claim = claims
      return (taken, isFull, roomOf) => {
        for (const [id, count] of taken) if (count >= roomOf(id)) marked.set(id, claims)
        if (isFull) return
        // Less than the room was taken, so nothing is left of what was queued before the claim.
        for (const [id, since] of marked) {
          if (since < claim && (taken.get(id) ?? 0) < roomOf(id)) marked.delete(id)
        }
      }
    },
  }
}
