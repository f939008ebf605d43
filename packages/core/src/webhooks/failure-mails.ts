import type { Runtime } from '../runtime/runtime.ts'
import { startWatch, type Watch } from '../runtime/watch.ts'
import type { Storage } from '../storage/ports/storage.ts'

const STEP_MAX = 256

/** The minimum time between two mails to an owner. What becomes due meanwhile is in the next mail. */
const EVERY_MS = 60 * 60_000

/**
 * Mails owners about webhooks that began to fail or that the service disabled. The commit of a delivery's result makes a notice
 * due; it stays due until the mail server took the mail. A mail that was lost, by a crash or a fault of the mail server, is
 * sent again after an hour.
 */
export function startFailureMailWatch({
  storage,
  runtime,
  mail,
}: {
  storage: Storage
  runtime: Runtime
  /**
   * Queues a mail to the owner about the notices that are due when it is composed, and records them as told once it is sent. Returns
   * false if too many mails wait.
   */
  mail: (workspaceId: string) => boolean
}): Watch {
  const due = (limit: number, after?: string) =>
    storage.read.webhookNotices.due({ now: runtime.now(), every_ms: EVERY_MS, limit, after })

  async function notifyAll(isHeld: () => boolean): Promise<void> {
    let found: string[] = []
    do {
      found = await due(STEP_MAX, found.at(-1))
      for (const workspaceId of found) {
        if (isHeld() || !mail(workspaceId)) return
      }
    } while (found.length === STEP_MAX)
  }

  return startWatch({
    name: 'failing webhooks',
    storage,
    runtime,
    isDue: async () => (await due(1)).length > 0,
    work: notifyAll,
    failed: 'owners were not notified of failing webhooks',
  })
}
