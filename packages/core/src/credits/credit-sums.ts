import { setTimeout as pause } from 'node:timers/promises'
import type { Storage } from '../storage/ports/storage.ts'

/** The number of entries of one step. A step is one transaction, and sends wait while it runs. */
const STEP_ENTRIES = 1_000

/** The pause between two steps, so that sends get the database. */
const PAUSE_MS = 10

/** The maximum number of steps before the other tasks of the sweeper run: a million entries. */
const STEPS_MAX = 1_000

/** The number of workspaces that one query reads. */
const WORKSPACES = 1_000

/** Writes the sums of the ledger by day and origin. */
export interface CreditSums {
  /** Adds what is new. Resolves when the entries of all workspaces are in the sums, or after 1,000 steps. */
  write(isStopping: () => boolean): Promise<void>
}

/** Adds the entries of each workspace in their order, in small transactions; a workspace that was begun is continued first. */
export function createCreditSums(storage: Pick<Storage, 'read' | 'write'>): CreditSums {
  return {
    async write(isStopping) {
      let steps = 0
      let after = ''
      while (!isStopping()) {
        const found = await storage.read.creditSums.due({ after, limit: WORKSPACES })
        for (const workspaceId of found) {
          let has_more = true
          while (has_more) {
            if (isStopping() || steps >= STEPS_MAX) return
            if (steps > 0) await pause(PAUSE_MS)
            steps += 1
            has_more = await storage.write(({ creditSums }) =>
              creditSums.extend(workspaceId, STEP_ENTRIES),
            )
          }
          after = workspaceId
        }
        if (found.length < WORKSPACES) return
      }
    },
  }
}
