import { expect, it } from 'vitest'
import {
  createBulkStepper,
  endPause,
  pauseBulk,
  resumeBulk,
  startBulkWatch,
} from '../../src/messages/bulk-pauses.ts'
import { createQuietHours } from '../../src/quiet-hours/quiet-hours.ts'
import type { BulkRow, MessageRow } from '../../src/rows/rows.ts'
import { benchFor, type OpenStorage, only } from './bench.ts'

const MINUTE_MS = 60_000

/** The pause of a bulk: its messages wait, none is lost and none is sent twice. */
export function bulkPausesContract(open: OpenStorage): void {
  const bench = benchFor(open)

  const parts = () => {
    const { storage, clock: runtime } = bench
    return { storage, runtime, quietHours: createQuietHours({ storage, runtime }) }
  }

  /** Does every step that is due, as the watch of a server does. */
  async function run(): Promise<void> {
    const watch = startBulkWatch({ ...parts(), step: createBulkStepper(parts()) })
    await watch.look()
    await watch.stop()
  }

  async function bulkOf(count: number, fields: Partial<BulkRow> = {}) {
    const workspaceId = await bench.workspace(1_000)
    const request = bench.make.bulk(workspaceId, count)
    const bulk = bench.make.bulkRow(request.messages, fields)
    await bench.storage.hot.accept([{ ...request, bulk }])
    const ids = request.messages.map(({ id }) => id)
    return { workspaceId, bulk, ids, stateOf: () => stateOf(bulk) }
  }

  const stateOf = async ({ workspace_id, id }: BulkRow) =>
    (await bench.storage.read.bulks.byId(workspace_id, id)) as BulkRow

  const held = ({ workspace_id, id }: BulkRow) =>
    bench.storage.read.bulks.held(workspace_id, id, 1_000)

  const claimed = async () =>
    (await bench.claimMessages()).map(({ message_id }) => message_id).toSorted()

  it('holds the messages of a paused bulk and no others, and sends them after it', async () => {
    const { workspaceId, bulk, ids, stateOf } = await bulkOf(3)
    const at = bench.clock.now()
    await pauseBulk(parts(), bulk)
    expect(await stateOf()).toMatchObject({ paused_at: at, next_at: null })
    await expect(pauseBulk(parts(), bulk)).rejects.toThrow('it cannot be paused again')
    const other = await bench.queued(workspaceId)
    expect(await claimed()).toEqual([other.id])
    expect((await held(bulk)).map(({ id }) => id)).toEqual(ids)
    // A held message is read by one claim only, so that others do not wait behind it.
    const next = await bench.queued(workspaceId)
    expect(await bench.claimMessages({ limit: 1 })).toMatchObject([{ message_id: next.id }])
    await run()
    expect(await claimed()).toEqual([])

    const resumed_at = bench.clock.advance(10_000)
    await resumeBulk(parts(), bulk)
    await run()
    expect(await bench.message(workspaceId, ids[0] as string)).toMatchObject({
      scheduled_at: resumed_at,
    })
    expect(await bench.reportsOf(workspaceId, ids[0] as string)).toMatchObject([
      { error_code: 'rescheduled', error_message: expect.stringContaining('The pause ended') },
    ])
    expect(await claimed()).toEqual(ids)
    expect(await stateOf()).toMatchObject({ paused_at: null, next_at: null })
    expect(await bench.storage.read.bulks.due(bench.clock.now(), 10)).toEqual([])
  })

  it('frees more messages than one step does, also when a step is cut off', async () => {
    const { bulk, ids } = await bulkOf(250)
    await pauseBulk(parts(), bulk)
    expect(await claimed()).toEqual([])
    await resumeBulk(parts(), bulk)
    // A server that is killed between two steps leaves the bulk due.
    expect(await createBulkStepper(parts())(bulk)).toBe(true)
    expect(await held(bulk)).toHaveLength(150)
    expect(await bench.storage.read.bulks.due(bench.clock.now(), 10)).toMatchObject([
      { id: bulk.id },
    ])
    await run()
    expect(await held(bulk)).toEqual([])
    expect(await claimed()).toEqual(ids)
  })

  it('refuses to pause a bulk without queued messages and a step of a broadcast', async () => {
    const { bulk } = await bulkOf(1)
    const [message] = await bench.claimMessages()
    if (!message) throw new Error('nothing was claimed')
    await bench.settle(message, {
      task: 'send',
      attempt: message.attempt,
      outcome: { type: 'accepted', provider_message_id: 'p1', lookup_after_ms: null },
    })
    await expect(pauseBulk(parts(), bulk)).rejects.toMatchObject({
      code: 'validation_error',
      message: 'No message of the bulk is queued: it cannot be paused',
    })
    await expect(resumeBulk(parts(), bulk)).rejects.toThrow('it cannot be resumed')
    const step = await bulkOf(1, { broadcast_id: bench.clock.id() })
    await expect(pauseBulk(parts(), step.bulk)).rejects.toThrow('pause the broadcast')
  })

  it('ends the pause of a canceled bulk, which cannot be resumed then', async () => {
    const { workspaceId, bulk, ids } = await bulkOf(2)
    const { balance } = await bench.account(workspaceId)
    await pauseBulk(parts(), bulk)
    expect(await claimed()).toEqual([])
    const request = { workspace_id: workspaceId, message_ids: ids, at: bench.clock.now() }
    expect(await bench.storage.hot.cancel(request)).toEqual(['canceled', 'canceled'])
    await endPause(parts(), bulk)
    await expect(resumeBulk(parts(), bulk)).rejects.toThrow('it cannot be resumed')
    expect(await held(bulk)).toEqual([])
    await run()
    expect(await stateOf(bulk)).toMatchObject({ paused_at: null, next_at: null })
    expect(await claimed()).toEqual([])
    expect((await bench.account(workspaceId)).balance).toBeGreaterThan(balance)
  })

  it('frees a message that is held between the cancellation and the end of the pause', async () => {
    const { workspaceId, bulk, ids } = await bulkOf(1)
    const [message] = await bench.claimMessages()
    if (!message) throw new Error('nothing was claimed')
    await pauseBulk(parts(), bulk)
    const request = { workspace_id: workspaceId, message_ids: ids, at: bench.clock.now() }
    expect(await bench.storage.hot.cancel(request)).not.toEqual(['canceled'])
    const busy = { error_code: 'busy', error_message: 'Busy', delay_ms: null }
    await bench.settle(message, {
      task: 'send',
      attempt: message.attempt,
      outcome: { type: 'retry', ...busy },
    })
    bench.clock.advance(60 * MINUTE_MS)
    expect(await claimed()).toEqual([])
    await endPause(parts(), bulk)
    await run()
    expect(await claimed()).toEqual(ids)
  })

  it('fails messages that expired during the pause, and refunds them', async () => {
    const workspaceId = await bench.workspace(1_000)
    const expires_at = new Date(bench.clock.now().getTime() + 60 * MINUTE_MS)
    const request = bench.make.bulk(workspaceId, 2)
    const [first, second] = request.messages as [MessageRow, MessageRow]
    const messages = [{ ...first, expires_at }, second]
    const bulk = bench.make.bulkRow(messages)
    await bench.storage.hot.accept([{ ...request, messages, bulk }])
    const { balance } = await bench.account(workspaceId)
    await pauseBulk(parts(), bulk)
    expect(await claimed()).toEqual([])
    bench.clock.advance(24 * 60 * MINUTE_MS)
    await resumeBulk(parts(), bulk)
    await run()
    const found = await bench.claimMessages()
    expect(found.map(({ message_id }) => message_id)).toEqual([first.id, second.id])
    expect(found[0]?.expires_at).toEqual(expires_at)
    expect(found[1]?.expires_at).toBeNull()
    const expired = { error_code: 'expired', error_message: 'Expired' }
    await bench.settle(only(found.slice(0, 1)), {
      ...{ task: 'send', attempt: 1, by_service: true },
      outcome: { type: 'rejected', ...expired },
    })
    expect(await bench.message(workspaceId, first.id)).toMatchObject({
      ...{ status: 'failed', error_code: 'expired', expires_at },
      credits_refunded: first.credits_used,
    })
    expect((await bench.account(workspaceId)).balance).toBe(balance + first.credits_used)
  })

  it('defers freed messages to the end of quiet hours', async () => {
    const { workspaceId, bulk, ids } = await bulkOf(1)
    await pauseBulk(parts(), bulk)
    expect(await claimed()).toEqual([])
    const end = new Date(bench.clock.now().getTime() + 90 * MINUTE_MS)
    await resumeBulk(parts(), bulk)
    const quietHours = { endFor: async () => () => end }
    await createBulkStepper({ ...parts(), quietHours })(bulk)
    const { scheduled_at, deferred_until } = await bench.message(workspaceId, ids[0] as string)
    expect({ scheduled_at, deferred_until }).toEqual({ scheduled_at: end, deferred_until: end })
    expect(await claimed()).toEqual([])
  })

  it('leaves no message held when it is resumed while claims hold its messages', async () => {
    const { bulk, ids } = await bulkOf(60)
    const sent: string[] = []
    for (let i = 0; i < 8; i++) {
      await pauseBulk(parts(), bulk)
      const [first, second] = await Promise.all([
        bench.claimMessages({ limit: 3 }),
        bench.claimMessages({ limit: 3 }),
        resumeBulk(parts(), bulk),
      ])
      for (const { message_id } of [...first, ...second]) sent.push(message_id)
      bench.clock.advance(1_000)
      await run()
      expect(await held(bulk)).toEqual([])
    }
    for (;;) {
      const found = await claimed()
      if (found.length === 0) break
      sent.push(...found)
    }
    expect(sent.toSorted()).toEqual(ids)
  })

  it('stays due when a pause and a resume come during its last step', async () => {
    const { bulk, ids } = await bulkOf(2)
    await pauseBulk(parts(), bulk)
    await resumeBulk(parts(), bulk)
    // The step has found no held message. Before it commits, a pause holds some and a resume follows.
    const { storage, runtime, quietHours } = parts()
    let isFirst = true
    const write: typeof storage.write = async (work) => {
      if (isFirst) {
        isFirst = false
        await pauseBulk(parts(), bulk)
        expect(await claimed()).toEqual([])
        await resumeBulk(parts(), bulk)
      }
      return storage.write(work)
    }
    const slow = new Proxy(storage, {
      get: (target, name) => (name === 'write' ? write : Reflect.get(target, name)),
    })
    expect(await createBulkStepper({ storage: slow, runtime, quietHours })(bulk)).toBe(false)
    await run()
    expect(await claimed()).toEqual(ids)
  })

  it('lists the paused bulks of a workspace, newest first', async () => {
    const { workspaceId, bulk } = await bulkOf(1, { name: 'May' })
    const request = bench.make.bulk(workspaceId, 1)
    const later = bench.make.bulkRow(request.messages as MessageRow[], { livemode: false })
    await bench.storage.hot.accept([{ ...request, bulk: later }])
    const { paused } = bench.storage.read.bulks
    expect(await paused(workspaceId, undefined, 10)).toEqual([])
    await pauseBulk(parts(), bulk)
    await pauseBulk(parts(), later)
    expect(await paused(workspaceId, undefined, 10)).toEqual([
      { id: later.id, name: null },
      { id: bulk.id, name: 'May' },
    ])
    expect(await paused(workspaceId, false, 10)).toEqual([{ id: later.id, name: null }])
    expect(await paused(workspaceId, undefined, 1)).toHaveLength(1)
    // A bulk without queued messages takes no place of the limit.
    await bench.storage.hot.cancel({
      ...{ workspace_id: workspaceId, at: bench.clock.now() },
      message_ids: request.messages.map(({ id }) => id),
    })
    expect(await stateOf(later)).toMatchObject({ paused_at: bench.clock.now() })
    expect(await paused(workspaceId, undefined, 1)).toEqual([{ id: bulk.id, name: 'May' }])
  })
}
