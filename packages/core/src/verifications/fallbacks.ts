import type { DispatchGate } from '../control/dispatch-control.ts'
import type { MessageRow, VerificationRow } from '../rows/rows.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'

/** Sends the code of a verification by its next channel, or notes why it is not sent. `status`: of its last message. */
export type FallBack = (
  row: VerificationRow,
  status: MessageRow['status'] | null,
) => Promise<unknown>

export interface FallbackWatch {
  /** Tries the next channel of each verification that is due. Resolves when all were tried, or if another server tries them. */
  look(): Promise<void>
  /** Starts no further round and waits for the send that is running. */
  stop(): Promise<void>
}

/** A failure of a provider is answered by the next channel after at most this time. */
const EVERY_MS = 1_000

const STEP_MAX = 256

/**
 * Sends codes by their next channel when the last message failed, or when no receipt of its delivery arrived in time. The
 * rows are the record of the work: after a crash, the next round continues. `accept` sends each channel at most once,
 * also if two servers try it.
 */
export function startFallbackWatch({
  storage,
  runtime,
  gate,
  fallBack,
}: {
  storage: Storage
  runtime: Pick<Runtime, 'now' | 'log'>
  /** While no message is sent, no receipt arrives either: the watch waits. */
  gate?: Pick<DispatchGate, 'is_paused'> | undefined
  fallBack: FallBack
}): FallbackWatch {
  let stopping = false
  let isLooking = false
  let last: Promise<void> = Promise.resolve()
  const timer = setInterval(() => {
    if (!isLooking) void look()
  }, EVERY_MS).unref()

  async function tryAll(): Promise<void> {
    const due = await storage.read.verifications.dueFallbacks(runtime.now(), STEP_MAX)
    for (const { row, status } of due) {
      if (stopping) return
      const { workspace_id, id: verification_id } = row
      // An error with one verification must not stop the others.
      await fallBack(row, status).catch((error) =>
        runtime.log.warn(
          { err: error, workspace_id, verification_id },
          'a code was not sent by its next channel',
        ),
      )
    }
  }

  async function lookNow(): Promise<void> {
    if (stopping || gate?.is_paused) return
    isLooking = true
    try {
      const due = await storage.read.verifications.dueFallbacks(runtime.now(), 1)
      if (due.length === 0) return
      // The rows are read again, because another server may have changed them until this one begins.
      await (storage.alone ? storage.alone('fallbacks', tryAll) : tryAll())
    } catch (error) {
      runtime.log.warn({ err: error }, 'codes were not sent by their next channel')
    } finally {
      isLooking = false
    }
  }

  function look(): Promise<void> {
    last = last.then(lookNow)
    return last
  }

  return {
    look,
    async stop() {
      stopping = true
      clearInterval(timer)
      await last
    },
  }
}
