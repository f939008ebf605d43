import { describe, expect, it } from 'vitest'
import type { EventRow } from '../../src/rows/rows.ts'
import type { Storage } from '../../src/storage/ports/storage.ts'
import { benchFor, type OpenStorage, only } from './bench.ts'

/** The order of events for programs that read them: positions rise by commit and have no gaps. */
export function eventLogContract(open: OpenStorage): void {
  const bench = benchFor(open)
  const keep = (isKept: boolean) => bench.storage.write(({ eventLog }) => eventLog.keep(isKept))
  const state = () => bench.storage.read.eventLog.state()
  const all = (workspaceId?: string) =>
    bench.storage.read.eventLog.between({ after: 0, until: 1_000_000 }, workspaceId)

  const eventRow = (workspace_id: string): EventRow => ({
    workspace_id,
    id: bench.clock.id(),
    event: 'credits.low',
    message_id: null,
    body: '{}',
    created_at: bench.clock.now(),
  })

  /** Stores events in one transaction, which does `steps` queries before and after. */
  const store = (events: EventRow[], { before, after }: { before: number; after: number }) =>
    bench.storage.write(async ({ webhooks, eventLog }) => {
      for (let i = 0; i < before; i++) await eventLog.isKept()
      await webhooks.queue({ events, deliveries: [], delivery_queue: [] })
      for (let i = 0; i < after; i++) await eventLog.isKept()
    })

  /** Follows the newest position until it has seen `count` events. */
  async function follow({ read: { eventLog } }: Storage, count: number): Promise<string[]> {
    const seen: string[] = []
    let at = 0
    while (seen.length < count) {
      const { position } = await eventLog.state()
      if (position === at) {
        // Reads of SQLite are ready at once, and writes need a turn of the event loop.
        await new Promise(setImmediate)
        continue
      }
      const found = await eventLog.between({ after: at, until: position }, undefined)
      expect(found.map((row) => row.position)).toStrictEqual(
        Array.from({ length: position - at }, (_, i) => at + i + 1),
      )
      seen.push(...found.map(({ id }) => id))
      at = position
    }
    return seen
  }

  it('shows a reader every event once, in one order, while many transactions commit', async () => {
    await keep(true)
    const workspaceId = await bench.workspace()
    const batches = Array.from({ length: 120 }, (_, i) =>
      Array.from({ length: 1 + (i % 3) }, () => eventRow(workspaceId)),
    )
    const ids = batches.flat().map(({ id }) => id)
    const following = [follow(bench.storage, ids.length), follow(bench.storage, ids.length)]
    await Promise.all(
      batches.map((events, i) => store(events, { before: i % 7, after: (i * 3) % 11 })),
    )
    const [one, other] = await Promise.all(following)
    expect([...(one ?? [])].sort()).toStrictEqual([...ids].sort())
    expect(other).toStrictEqual(one)
    expect((await all()).map(({ id }) => id)).toStrictEqual(one)
  })

  it('has no place for the events of a transaction that failed', async () => {
    await keep(true)
    const workspaceId = await bench.workspace()
    const failing = bench.storage.write(async ({ webhooks }) => {
      const events = [eventRow(workspaceId)]
      await webhooks.queue({ events, deliveries: [], delivery_queue: [] })
      throw new Error('rolled back')
    })
    await expect(failing).rejects.toThrow('rolled back')
    expect((await state()).position).toBe(0)
    await store([eventRow(workspaceId)], { before: 0, after: 0 })
    expect((await all()).map(({ position }) => position)).toStrictEqual([1])
  })

  describe('a settled message without a webhook', () => {
    async function settled(has_webhook = false): Promise<string> {
      const workspaceId = await bench.workspace()
      if (has_webhook) await bench.webhook(workspaceId)
      const request = bench.make.send(workspaceId)
      const message = only(request.messages)
      await bench.accept(request)
      const claimed = only(await bench.claimMessages())
      const outcome = {
        type: 'accepted',
        provider_message_id: 'P1',
        lookup_after_ms: null,
      } as const
      await bench.settle(claimed, { task: 'send', attempt: 1, outcome })
      await bench.callback(message, 'delivered')
      return workspaceId
    }

    it('leaves no event if none are kept', async () => {
      const workspaceId = await settled()
      expect(await all()).toStrictEqual([])
      const range = { from_id: '', before_id: '~' }
      expect(await bench.storage.read.retention.events(workspaceId, range, 10)).toStrictEqual([])
    })

    it('leaves no place in the log if none are kept, though a webhook gets its events', async () => {
      await settled(true)
      expect(await bench.claimDeliveries()).toHaveLength(2)
      expect(await state()).toStrictEqual({ is_kept: false, position: 0, since: 0 })
      expect(await all()).toStrictEqual([])
    })

    it('leaves its events in the log if they are kept', async () => {
      await keep(true)
      const calls: number[] = []
      const stop = bench.storage.onEvents(() => void calls.push(1))
      const workspaceId = await settled()
      const found = await all(workspaceId)
      expect(found.map(({ position, event }) => [position, event])).toStrictEqual([
        [1, 'message.sent'],
        [2, 'message.delivered'],
      ])
      expect(await all(await bench.workspace())).toStrictEqual([])
      expect(calls.length).toBeGreaterThan(0)
      stop()
    })
  })

  it('knows from which position on events are kept', async () => {
    expect(await state()).toStrictEqual({ is_kept: false, position: 0, since: 0 })
    expect(await keep(true)).toStrictEqual({ is_kept: true, position: 0, since: 0 })
    const workspaceId = await bench.workspace()
    await store([eventRow(workspaceId), eventRow(workspaceId)], { before: 0, after: 0 })
    expect(await keep(true)).toStrictEqual({ is_kept: true, position: 2, since: 0 })
    expect(await keep(false)).toStrictEqual({ is_kept: false, position: 2, since: 0 })
    await store([eventRow(workspaceId)], { before: 0, after: 0 })
    expect(await keep(true)).toStrictEqual({ is_kept: true, position: 2, since: 2 })
  })
}
