import { startLowBalanceWatch } from '../credits/low-balance.ts'
import type { Incoming } from '../inbound/inbound.ts'
import type { AuditRetention } from '../operating/audit-retention.ts'
import type { DispatchGate } from '../operating/dispatch-gate.ts'
import type { Retention } from '../operating/retention.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Tracing } from '../runtime/tracing.ts'
import type { Sealer } from '../secrets/sealer.ts'
import type { LowBalance } from '../storage/ports/low-balances.ts'
import type { Storage } from '../storage/ports/storage.ts'
import { deliveryLane } from './delivery-lane.ts'
import { type Lane, type RunningLane, startLane } from './lane.ts'
import type { Listeners } from './listening.ts'
import { messageLane } from './message-lane.ts'
import type { Performer } from './performer.ts'
import type { ProviderWatch } from './provider-watch.ts'
import type { Routing } from './routing.ts'
import { startSweeper } from './sweeper.ts'

/** What came in is stored within it; a connection is not waited for longer. */
const LISTENERS_GRACE_MS = 5_000

/** What sends messages and delivers webhooks, while it runs. */
export interface Dispatcher {
  /** There may be a message due. */
  wake(): void
  /** There may be a delivery due. */
  wakeDeliveries(): void
  /** Something is due for this webhook because somebody asked: its receiver is tried at once, also if taken for dead. */
  deliverNow(webhookId: string): void
  /** Resolves when nothing is due and nothing under way; what waits for a later time does not count. */
  idle(): Promise<void>
  /** Sees to what time alone has ended, now and not within the minute. */
  sweep(): Promise<void>
  /** Claims no more, sees what is under way to its end, at most for `grace_ms`. What is left is recovered later. */
  stop(grace_ms: number): Promise<void>
}

/**
 * Starts both lanes, the sweeper and the watch for low balances, holding the right to dispatch until the last work is
 * done.
 */
export function startDispatcher({
  storage,
  runtime,
  sealer,
  right,
  performer,
  routing,
  gate,
  lease_ms,
  receive,
  mailLowBalance = () => true,
  watch,
  listeners,
  retention = null,
  auditRetention = null,
  tracing = null,
}: {
  storage: Storage
  runtime: Runtime
  /** Opens the secrets of webhooks. */
  sealer: Sealer
  right: { release(): Promise<void> }
  performer: Performer
  routing: Routing
  /** Whether anything is claimed at all; unless told, it is. */
  gate?: Pick<DispatchGate, 'isPaused'>
  /** How long claimed work is this process's; the lanes know unless told. */
  lease_ms?: number | undefined
  /** Takes in what recipients wrote back. */
  receive: (provider: string, incoming: readonly Incoming[]) => Promise<void>
  /** Keeps up how the providers stand, and ends with the dispatcher. */
  watch?: ProviderWatch
  /** What providers tell by themselves, taken in until the end. */
  listeners?: Listeners
  /** Promises the owner a mail that says so; false when too many are waiting. */
  mailLowBalance?: (low: LowBalance) => void
  /** What makes histories forget; null where they are kept for ever. */
  retention?: Retention | null
  auditRetention?: AuditRetention | null
  tracing?: Tracing | null
}): Dispatcher {
  const { log, telemetry } = runtime
  const lane = deliveryLane({ storage, runtime, sealer, performer, tracing, lease_ms })
  const gated = <Item>(lane: Lane<Item>): Lane<Item> => ({
    ...lane,
    claim: async (limit) => (gate?.isPaused() ? [] : lane.claim(limit)),
  })
  const deliveries = startLane(gated(lane), log, telemetry)
  const sending = messageLane({
    storage,
    runtime,
    performer,
    routing,
    receive,
    tracing,
    lease_ms,
    onSettled: deliveries.wake,
  })
  const messages = startLane(gated(sending), log, telemetry)
  const sweeper = startSweeper({ storage, runtime, retention, auditRetention })
  const lowBalances = startLowBalanceWatch({
    storage,
    runtime,
    mail: mailLowBalance,
    onQueued: deliveries.wake,
  })
  const lanes: RunningLane[] = [messages, deliveries]
  const wake = () => {
    for (const lane of lanes) lane.wake()
  }
  // What other processes on this database have queued.
  const deafen = storage.hot.onWake?.((work) => {
    if (work !== 'deliveries') messages.wake()
    if (work !== 'messages') deliveries.wake()
  })
  return {
    wake: messages.wake,
    wakeDeliveries: deliveries.wake,
    deliverNow(webhookId) {
      lane.hurry(webhookId)
      deliveries.wake()
    },
    sweep: sweeper.sweep,
    async idle() {
      await watch?.look()
      await lowBalances.look()
      wake()
      do {
        for (const lane of lanes) await lane.quiet()
      } while (!lanes.every((lane) => lane.isQuiet()))
    },
    async stop(grace_ms) {
      deafen?.()
      const others = [sweeper.stop(), lowBalances.stop(), watch?.stop()]
      await Promise.all([...others, ...lanes.map((lane) => lane.stop(grace_ms))])
      await listeners?.close(LISTENERS_GRACE_MS)
      await performer.close()
      await right.release()
    },
  }
}
