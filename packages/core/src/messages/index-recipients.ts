import { setTimeout as pause } from 'node:timers/promises'
import { idFloor, type Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'
import type { IndexSizes } from '../storage/ports/stores.ts'

/** Servers commit messages this late after they made the ids, with the difference of their clocks; later ones cost a comparison. */
const LATE_MS = 10_000

/** The pause between two steps, so that sends get the database. */
const PAUSE_MS = 10

/** The maximum number of steps before the other tasks of the sweeper run. */
const STEPS_MAX = 1_000

/** The number of workspaces that one query reads. */
const WORKSPACES = 1_000

/**
 * A list reads at most about one batch of messages that are in no segment. A batch writes each page of its segment, about
 * 350 of SQLite, and a list looks into each segment: 61 for 1,000,000 messages.
 */
const SIZES: IndexSizes = { batch: 1_024, segment_max: 16_384 }

/** Writes the index of messages by recipient. */
export interface RecipientIndex {
  /** Indexes what is new. Resolves when whole batches of all workspaces are indexed, or after 1,000 steps. */
  write(isStopping: () => boolean): Promise<void>
}

/** Writes the index of all workspaces with at least one batch of messages, oldest first, in small transactions. */
export function createRecipientIndex(
  { storage, runtime }: { storage: Pick<Storage, 'read' | 'write'>; runtime: Pick<Runtime, 'now'> },
  sizes: IndexSizes = SIZES,
): RecipientIndex {
  /** The numbers of messages of workspaces that were complete, and how often they were: the first time, some were too new. */
  const complete = new Map<string, { total: number; times: number }>()
  return {
    async write(isStopping) {
      if (isStopping()) return
      let steps = 0
      const before_id = idFloor(new Date(runtime.now().getTime() - LATE_MS))
      const step = async <T>(work: Parameters<typeof storage.write<T>>[0]): Promise<T | null> => {
        if (isStopping() || steps >= STEPS_MAX) return null
        if (steps > 0) await pause(PAUSE_MS)
        steps += 1
        return storage.write(work)
      }
      for await (const { workspace_id, total } of workspacesOf(storage, sizes.batch)) {
        const last = complete.get(workspace_id)
        if (last?.total === total && last.times > 1) continue
        let has_more: boolean | null = true
        while (has_more) {
          has_more = await step(({ recipientIndex }) =>
            recipientIndex.extend(workspace_id, before_id, sizes),
          )
        }
        let segment: number | null = null
        const state = await storage.read.recipientIndex.state(workspace_id)
        if (has_more !== null && state && state.late !== 0) {
          do {
            const compared: number | null = segment
            segment = await step(({ recipientIndex }) =>
              recipientIndex.compare(workspace_id, compared),
            )
          } while (segment !== null)
        }
        if (isStopping() || steps >= STEPS_MAX) return
        complete.set(workspace_id, {
          total,
          times: last?.total === total ? last.times + 1 : 1,
        })
      }
    },
  }
}

async function* workspacesOf(
  { read: { recipientIndex } }: Pick<Storage, 'read'>,
  messages: number,
) {
  let after = ''
  for (;;) {
    const found = await recipientIndex.due({ messages, after, limit: WORKSPACES })
    yield* found
    after = found.at(-1)?.workspace_id ?? ''
    if (found.length < WORKSPACES) return
  }
}
