import { type FanOut, fanOut } from '../rules/deliveries.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { startWatch, type Watch } from '../runtime/watch.ts'
import type { Storage } from '../storage/ports/storage.ts'
import type { LowBalance } from '../storage/ports/stores.ts'

const STEP_MAX = 256

const NOT_NOTIFIED = 'owners were not notified of low balances'

/**
 * Notifies an owner once each time the credits fall below the threshold: first with a `credits.low` event, which is stored
 * in the transaction that marks the owner as notified, then by mail. A crash between event and mail loses the mail.
 * Source: contract section 7.
 */
export function startLowBalanceWatch({
  storage,
  runtime,
  mail,
  onQueued,
}: {
  storage: Storage
  runtime: Runtime
  /** Queues a mail to the owner. */
  mail: (low: LowBalance) => void
  /** Called when deliveries were queued. */
  onQueued: () => void
}): Watch {
  async function notify(workspaceId: string): Promise<void> {
    const { low, isQueued } = await storage.write(async ({ lowBalances, webhooks, eventLog }) => {
      const low = await lowBalances.claimNotice(workspaceId)
      if (!low) return { low, isQueued: false }
      const announced = eventOf(runtime, low, {
        subscribers: await webhooks.subscribers(workspaceId),
        keeps: await eventLog.isKept(),
      })
      await webhooks.queue(announced)
      return { low, isQueued: announced.deliveries.length > 0 }
    })
    if (isQueued) onQueued()
    if (low) mail(low)
  }

  /** Notifies each owner separately, because an error with one owner must not stop the others. */
  async function notifyAll(isHeld: () => boolean): Promise<void> {
    let due: string[] = []
    do {
      due = await storage.read.lowBalances.due(STEP_MAX, due.at(-1))
      for (const workspaceId of due) {
        if (isHeld()) return
        await notify(workspaceId).catch((error) =>
          runtime.log.warn({ err: error, workspace_id: workspaceId }, NOT_NOTIFIED),
        )
      }
    } while (due.length === STEP_MAX)
  }

  return startWatch({
    name: 'low balance',
    storage,
    runtime,
    isDue: async () => (await storage.read.lowBalances.due(1)).length > 0,
    work: notifyAll,
    failed: NOT_NOTIFIED,
  })
}

function eventOf(
  { now, id }: Runtime,
  { workspace_id, available, threshold }: LowBalance,
  { subscribers, keeps }: { subscribers: Parameters<typeof fanOut>[2]; keeps: boolean },
): FanOut {
  const at = now()
  const announced: FanOut = { events: [], deliveries: [], delivery_queue: [] }
  // Test messages cost nothing, so only live messages lower the balance.
  const data = { credits_balance: available, threshold, livemode: true, occurred_at: at }
  const low = { event: 'credits.low', data, workspace_id, message_id: null } as const
  fanOut(announced, low, subscribers, { at, newId: id, keeps })
  return announced
}
