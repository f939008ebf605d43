import type { Runtime } from '../runtime.ts'
import type { Storage } from '../storage/storage.ts'
import { deliveryLane } from './delivery-lane.ts'
import { type RunningLane, startLane } from './lane.ts'
import { messageLane } from './message-lane.ts'
import type { Performer } from './performer.ts'
import type { Routing } from './routing.ts'

export interface Dispatcher {
  /** There may be something due. */
  wake(): void
  /** Resolves when nothing is due and nothing under way; what waits for a later time does not count. */
  idle(): Promise<void>
  /** Claims no more, sees what is under way to its end, at most for `grace_ms`. What is left is recovered later. */
  stop(grace_ms: number): Promise<void>
}

/**
 * Takes the right to dispatch and starts both lanes.
 * @throws Error when another process dispatches on this database already.
 */
export async function startDispatcher({
  storage,
  runtime,
  performer,
  routing,
}: {
  storage: Storage
  runtime: Runtime
  performer: Performer
  routing: Routing
}): Promise<Dispatcher> {
  const right = await storage.startDispatch()
  const deliveries = startLane(deliveryLane({ storage, runtime, performer }), runtime.log)
  const messages = startLane(
    messageLane({ storage, runtime, performer, routing, onSettled: deliveries.wake }),
    runtime.log,
  )
  const lanes: RunningLane[] = [messages, deliveries]
  const wake = () => {
    for (const lane of lanes) lane.wake()
  }
  return {
    wake: messages.wake,
    async idle() {
      wake()
      do {
        for (const lane of lanes) await lane.quiet()
      } while (!lanes.every((lane) => lane.isQuiet()))
    },
    async stop(grace_ms) {
      await messages.stop(grace_ms)
      await deliveries.stop(grace_ms)
      await right.release()
      await performer.close()
    },
  }
}
