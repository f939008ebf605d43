import { units } from '../../src/contract/fields/units.ts'
import type { Storage } from '../../src/storage/ports/storage.ts'
import { builders, testRuntime } from '../fixtures.ts'
import { callback } from './bench.ts'

/** Accepts a message on each of three days, one of a test key; the first is delivered, the last canceled. */
export async function sendOnThreeDays(storage: Storage, workspaceId: string): Promise<void> {
  const runtime = testRuntime('three days')
  const make = builders(runtime)
  for (const day of [0, 1, 2]) {
    const free = { credits_used: units(0), livemode: day !== 1 }
    const request = make.send(workspaceId, free)
    await storage.hot.accept([request])
    const message_id = request.messages[0]?.id ?? ''
    if (day === 0) {
      await storage.hot.settle([
        {
          workspace_id: workspaceId,
          message_id,
          token: null,
          provider: 'carrier',
          abilities: { idempotent: false, lookup: false },
          result: callback('delivered'),
          at: runtime.now(),
        },
      ])
    }
    if (day === 2) {
      const at = runtime.now()
      await storage.hot.cancel({ workspace_id: workspaceId, message_ids: [message_id], at })
    }
    runtime.advance(86_400_000)
  }
}
