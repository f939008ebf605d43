import { expect, it } from 'vitest'
import { createDispatchControl, createDispatchGate } from '../../src/control/dispatch-control.ts'

import type { DispatchPauseRow } from '../../src/rows/rows.ts'
import { SMS_PRICE } from '../fixtures.ts'
import { benchFor, LEASE_MS, type OpenStorage, only } from './bench.ts'

const HOUR_MS = 3_600_000

/** Why nothing is sent at all, and what is doubtful after a restore. */
export function dispatchPausesContract(open: OpenStorage): void {
  const bench = benchFor(open)

  function pause(overrides: Partial<DispatchPauseRow> = {}): DispatchPauseRow {
    const created_at = bench.clock.now()
    return {
      scope: 'all',
      cause: 'operator',
      reason: 'Moving',
      backup_at: null,
      created_at,
      ...overrides,
    }
  }
  const put = (overrides: Partial<DispatchPauseRow> = {}) =>
    bench.storage.write(({ dispatchPauses }) => dispatchPauses.put(pause(overrides)))
  const stands = () => bench.storage.read.dispatchPauses.byScope('all')
  const remove = () => bench.storage.write(({ dispatchPauses }) => dispatchPauses.remove('all'))

  function control() {
    const { storage, clock } = bench
    const gate = createDispatchGate({ storage, log: clock.log, onOpened() {} })
    return createDispatchControl({ storage, runtime: clock, gate })
  }

  async function listed(): Promise<string[]> {
    const ids: string[] = []
    for await (const { id } of control().doubtfulMessages()) ids.push(id)
    return ids
  }

  it('is one row, kept over a restart, and removed once', async () => {
    expect(await stands()).toBeNull()
    await put()
    await put({ reason: 'Moving on' })
    await bench.reopen()
    expect(await stands()).toEqual(pause({ reason: 'Moving on' }))
    expect(await remove()).toBe(true)
    expect(await remove()).toBe(false)
    expect(await stands()).toBeNull()
  })

  it('tells once that it ended, so that due work is claimed at once', async () => {
    let ends = 0
    const gate = createDispatchGate({
      storage: bench.storage,
      log: bench.clock.log,
      onOpened() {
        ends += 1
      },
    })
    const readings: [is_paused: boolean, ends: number][] = []
    const read = async () => {
      await gate.refresh()
      readings.push([gate.is_paused, ends])
    }
    await read()
    await put()
    await read()
    await read()
    await remove()
    await read()
    await read()
    expect(readings).toEqual([
      [false, 0],
      [true, 0],
      [true, 0],
      [false, 1],
      [false, 1],
    ])
  })

  it("of an operator never takes the place of a restore's", async () => {
    const restored = pause({ cause: 'restore', reason: 'Restored', backup_at: bench.clock.now() })
    await put()
    expect(await put(restored)).toEqual(restored)
    expect(await put()).toEqual(restored)
    expect(await stands()).toEqual(restored)
  })

  it('of an operator makes nothing doubtful', async () => {
    await bench.queued(await bench.workspace())
    await control().stop({ reason: 'Moving' })
    expect(await control().doubtful()).toEqual([])
    expect(await control().resume()).toEqual({ was_paused: true, canceled: 0, begun: 0 })
    expect(await control().resume()).toEqual({ was_paused: false, canceled: 0, begun: 0 })
  })

  it('of a restore doubts what was queued in the backup and due before it, and nothing else', async () => {
    const { clock } = bench
    const [one, two] = [await bench.workspace(), await bench.workspace()]
    const oldest_at = clock.now()
    const due = await bench.queued(one)
    const scheduled_at = new Date(clock.now().getTime() + 2 * HOUR_MS)
    await bench.queued(one, { scheduled_at })
    const early = new Date(clock.now().getTime() + HOUR_MS / 2)
    const scheduled = await bench.queued(two, { scheduled_at: early })
    clock.advance(1)
    const backup_at = clock.now()
    clock.advance(HOUR_MS)
    const pause = await control().stop({ reason: 'Restored', backup_at })
    expect(pause).toMatchObject({ cause: 'restore', backup_at, created_at: clock.now() })
    clock.advance(1)
    await bench.queued(one)
    expect(await control().doubtful()).toMatchObject([
      { workspace_id: one, channel: 'sms', count: 1, oldest_at, newest_at: oldest_at },
      { workspace_id: two, channel: 'sms', count: 1 },
    ])
    expect(await listed()).toEqual([due.id, scheduled.id])
    // Messages that become due during the pause were never sent.
    clock.advance(2 * HOUR_MS)
    expect(await listed()).toEqual([due.id, scheduled.id])
  })

  it('of a copy that was put in place by hand doubts whatever is due by now', async () => {
    const { clock } = bench
    const id = await bench.workspace()
    const scheduled_at = new Date(clock.now().getTime() + HOUR_MS)
    const scheduled = await bench.queued(id, { scheduled_at })
    const backup_at = clock.now()
    await put({ cause: 'restore', backup_at, created_at: backup_at })
    expect(await listed()).toEqual([])
    clock.advance(HOUR_MS)
    expect(await listed()).toEqual([scheduled.id])
  })

  it('refuses to end while messages are doubtful without a decision, and a future time', async () => {
    const backup_at = bench.clock.now()
    await bench.queued(await bench.workspace())
    await control().stop({ reason: 'Restored', backup_at })
    await expect(control().resume()).rejects.toMatchObject({ code: 'validation_error' })
    expect(await stands()).not.toBeNull()
    const to_come = new Date(bench.clock.now().getTime() + 1)
    await expect(control().stop({ reason: '', backup_at: to_come })).rejects.toMatchObject({
      code: 'validation_error',
    })
    expect(await control().resume('send')).toEqual({ was_paused: true, canceled: 0, begun: 0 })
    expect(await stands()).toBeNull()
    expect(await bench.claimMessages()).toHaveLength(1)
  })

  it('cancels what is doubtful and gives the credits back, but for what was being handed over', async () => {
    const { clock } = bench
    const [one, two] = [await bench.workspace(3), await bench.workspace(700)]
    const begun = await bench.queued(one)
    only(await bench.claimMessages())
    const canceled = await bench.queued(one)
    await bench.storage.hot.accept(Array.from({ length: 600 }, () => bench.make.send(two)))
    const backup_at = clock.now()
    clock.advance(LEASE_MS / 2)
    await control().stop({ reason: 'Restored', backup_at })
    clock.advance(1)
    const later = await bench.queued(one)
    expect(await control().resume('cancel')).toEqual({ was_paused: true, canceled: 601, begun: 1 })
    expect(await bench.message(one, canceled.id)).toMatchObject({
      status: 'failed',
      error_code: 'canceled',
    })
    expect(await bench.message(one, begun.id)).toMatchObject({ status: 'queued' })
    expect((await bench.account(one)).balance).toBe(SMS_PRICE)
    expect((await bench.account(two)).balance).toBe(700 * SMS_PRICE)
    const claimed = await bench.claimMessages()
    expect(claimed.map(({ message_id }) => message_id)).toEqual([later.id])
  })
}
