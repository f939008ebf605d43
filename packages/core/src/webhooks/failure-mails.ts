import type { Runtime } from '../runtime/runtime.ts'
import { startWatch, type Watch } from '../runtime/watch.ts'
import type { Storage } from '../storage/ports/storage.ts'
import type { WebhookNotice } from '../storage/ports/stores.ts'

const STEP_MAX = 256

/** The minimum time between two mails to an owner. What becomes due meanwhile is in the next mail. */
const EVERY_MS = 60 * 60_000

const NOT_NOTIFIED = 'owners were not notified of failing webhooks'

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
  /** Queues a mail to the owner, and records the notices as told once it is sent. */
  mail: (workspaceId: string, notices: readonly WebhookNotice[]) => void
}): Watch {
  const due = (limit: number, after?: string) =>
    storage.read.webhookNotices.due({ now: runtime.now(), every_ms: EVERY_MS, limit, after })

  async function notify(workspaceId: string): Promise<void> {
    const notices = await storage.write(async ({ webhookNotices, ownerMails }) => {
      const taken = await webhookNotices.take(workspaceId)
      if (taken.length === 0) return []
      const mailed_at = runtime.now()
      const begun = { workspace_id: workspaceId, kind: 'webhook_failure', mailed_at } as const
      return (await ownerMails.claim(begun, EVERY_MS)) ? taken : []
    })
    if (notices.length > 0) mail(workspaceId, notices)
  }

  /** Notifies each owner separately, because an error with one owner must not stop the others. */
  async function notifyAll(isHeld: () => boolean): Promise<void> {
    let found: string[] = []
    do {
      found = await due(STEP_MAX, found.at(-1))
      for (const workspaceId of found) {
        if (isHeld()) return
        await notify(workspaceId).catch((error) =>
          runtime.log.warn({ err: error, workspace_id: workspaceId }, NOT_NOTIFIED),
        )
      }
    } while (found.length === STEP_MAX)
  }

  return startWatch({
    name: 'failing webhooks',
    storage,
    runtime,
    isDue: async () => (await due(1)).length > 0,
    work: notifyAll,
    failed: NOT_NOTIFIED,
  })
}
