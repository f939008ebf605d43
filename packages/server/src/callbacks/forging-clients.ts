import type { State } from '../admission/rate-limiter.ts'
import { createTurns, type Turns } from '../admission/turns.ts'

/** The maximum number of remembered clients. One more client replaces the oldest. */
const CLIENTS_MAX = 10_000

/**
 * The clients whose bad signatures used up their bucket of requests without credentials. Until the bucket's window ends,
 * one body of such a client is read and checked in each turn of the event loop, so that forged bodies delay other requests
 * by at most one check. No request is refused: the provider itself may call from the same address, for example through one
 * proxy, and often reports an event only once.
 */
export interface ForgingClients {
  /** Records a bad signature, with the state of the client's bucket after it. */
  note(client: string, bucket: Pick<State, 'remaining' | 'reset_s'>): void
  /** Resolves when the body of a request of this client may be read; undefined if it may be read at once. */
  turn(client: string): Promise<void> | undefined
}

/** @param now time in milliseconds */
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
