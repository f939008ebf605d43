import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Work } from '../../src/storage/ports/hot.ts'
import type { Storage } from '../../src/storage/ports/storage.ts'
import { SMS_PRICE } from '../fixtures.ts'
import { only } from '../storage/bench.ts'
import { patient, postgresBench } from './bench.ts'

const bench = postgresBench()

/** Another server than the bench's. */
let there: Storage
let heard: (Work | null)[]
let stop: () => void
beforeEach(async () => {
  there = await bench.another('there')
  heard = []
  stop = there.hot.onWake?.((work) => heard.push(work)) ?? expect.fail('PostgreSQL can wake')
  // It listens from now on.
  await expect.poll(() => heard, patient).toEqual([null])
  heard.length = 0
})
afterEach(() => there?.close())

describe('a server hears', () => {
  it('of messages that another accepted, and of deliveries that it queued', async () => {
    const id = await bench.workspace()
    await bench.webhook(id)
    const message = await bench.queued(id)
    await expect.poll(() => heard, patient).toEqual(['messages'])
    await bench.callback(message, 'sent')
    await expect.poll(() => heard, patient).toEqual(['messages', 'deliveries'])
  })

  it('nothing of its own work, of what is due later, nor of what was refused', async () => {
    const id = await bench.workspace(10)
    await bench.webhook(id)
    const request = bench.make.send(id)
    await there.hot.accept([request])
    const scheduled_at = new Date(bench.clock.now().getTime() + 60_000)
    await bench.queued(id, { scheduled_at })
    expect(await bench.accept(bench.make.bulk(id, 9))).toMatchObject({ available: 8 * SMS_PRICE })
    await bench.callback(only(request.messages), 'sent')
    await expect.poll(() => heard, patient).toContain('deliveries')
    expect(heard).toEqual(['deliveries'])
  })

  it('of a message that is rescheduled', async () => {
    const workspace_id = await bench.workspace()
    const at = bench.clock.now()
    const scheduled_at = new Date(at.getTime() + 60_000)
    const { id: message_id } = await bench.queued(workspace_id, { scheduled_at })
    const now = { scheduled_at: at, deferred_until: null, at }
    await bench.storage.hot.reschedule([{ workspace_id, message_id, ...now }])
    await expect.poll(() => heard, patient).toEqual(['messages'])
  })

  it('nothing of a report that no webhook gets', async () => {
    const request = bench.make.send(await bench.workspace())
    await there.hot.accept([request])
    await bench.callback(only(request.messages), 'sent')
    await bench.queued(request.workspace_id)
    await expect.poll(() => heard, patient).toContain('messages')
    expect(heard).toEqual(['messages'])
  })

  it('of much work now and then only, and once more after the last of it', async () => {
    const id = await bench.workspace()
    for (let i = 0; i < 50; i++) await bench.queued(id)
    heard.length = 0
    await bench.queued(id)
    await expect.poll(() => heard.length, patient).toBeGreaterThan(0)
    expect(heard.length).toBeLessThan(5)
  })

  it('nothing more once it has stopped', async () => {
    const id = await bench.workspace()
    const others: unknown[] = []
    there.hot.onWake?.((work) => others.push(work))
    stop()
    await bench.queued(id)
    await expect.poll(() => others, patient).toEqual(['messages'])
    expect(heard).toEqual([])
  })

  it('that it may have missed something when its connection was lost, and then goes on', async () => {
    const id = await bench.workspace()
    const owner = await bench.connect()
    await owner.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen %' and datname = current_database()",
    )
    await expect.poll(() => heard, patient).toEqual([null])
    await bench.queued(id)
    await expect.poll(() => heard, patient).toEqual([null, 'messages'])
  })
})
