import type { State } from './rate-limit.ts'
import { createTurns, type Turns } from './turns.ts'

/** So many clients are remembered; beyond it the one that was noted first is forgotten. */
const CLIENTS_MAX = 10_000

/**
 * The clients whose bad signatures used up their bucket of requests without credentials. Until its window ends, the bodies
 * of such a client are read and checked one in each turn of the event loop, so that forged ones delay no other request by
 * more than one check. None is refused: the provider itself may call from the same address, through one proxy for
 * instance, and what it tells is often told once.
 */
export interface ForgingClients {
  /** Takes note of a bad signature: how the client's bucket stands with it. */
  note(client: string, bucket: Pick<State, 'remaining' | 'reset_s'>): void
  /** Resolves when the body of a request of that client may be read; undefined if it may at once. */
  turn(client: string): Promise<void> | undefined
}

/** @param now milliseconds */
export function createForgingClients(now: () => number): ForgingClients {
  const forging = new Map<string, { turns: Turns; until: number }>()
  return {
    note(client, { remaining, reset_s }) {
      if (remaining > 0) return
      const until = now() + reset_s * 1000
      const known = forging.get(client)
      if (known) {
        known.until = until
        return
      }
      const [oldest] = forging.keys()
      if (forging.size >= CLIENTS_MAX && oldest !== undefined) forging.delete(oldest)
      forging.set(client, { turns: createTurns({ per_turn: 1 }), until })
    },
    turn(client) {
      const found = forging.get(client)
      if (!found) return undefined
      if (found.until > now()) return found.turns.next()
      forging.delete(client)
      return undefined
    },
  }
}
