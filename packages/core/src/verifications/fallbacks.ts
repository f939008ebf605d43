import type { DispatchGate } from '../control/dispatch-control.ts'
import type { MessageRow, VerificationRow } from '../rows/rows.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { startWatch, type Watch } from '../runtime/watch.ts'
import type { Storage } from '../storage/ports/storage.ts'

/** Sends the code of a verification by its next channel, or notes why it is not sent. `status`: of its last message. */
export type FallBack = (
  row: VerificationRow,
  status: MessageRow['status'] | null,
) => Promise<unknown>

const STEP_MAX = 256

const NOT_SENT = 'codes were not sent by their next channel'

/**
 * Sends codes by their next channel when the last message failed, or when no receipt of its delivery arrived in time. The
 * rows are the record of the work: after a crash, the next round continues. `accept` sends each channel at most once,
 * also if two servers try it.
 */
export function startFallbackWatch({
  fallBack,
  ...parts
}: {
  storage: Storage
  runtime: Pick<Runtime, 'now' | 'log'>
  /** While no message is sent, no receipt arrives either: the watch waits. */
  gate?: Pick<DispatchGate, 'is_paused'> | undefined
  fallBack: FallBack
}): Watch {
  const { storage, runtime } = parts
  const dueNow = (limit: number) => storage.read.verifications.dueFallbacks(runtime.now(), limit)
  return startWatch({
    ...parts,
    name: 'fallbacks',
    isDue: async () => (await dueNow(1)).length > 0,
    async work(isHeld) {
      for (const { row, status } of await dueNow(STEP_MAX)) {
        if (isHeld()) return
        const { workspace_id, id: verification_id } = row
        // An error with one verification must not stop the others.
        await fallBack(row, status).catch((error) =>
          runtime.log.warn({ err: error, workspace_id, verification_id }, NOT_SENT),
        )
      }
    },
    failed: NOT_SENT,
  })
}
