import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { units } from '../../src/contract/units.ts'
import { systemRuntime } from '../../src/runtime.ts'
import { openPostgres } from '../../src/storage/postgres/postgres.ts'
import type { Storage, Work } from '../../src/storage/storage.ts'
import { builders, SMS_PRICE } from '../fixtures.ts'
import { createDatabase, type TestDatabase } from '../postgres-database.ts'
import { callback, only } from '../storage/bench.ts'

const runtime = systemRuntime()
const make = builders(runtime)

let database: TestDatabase
let here: Storage
let there: Storage
let heard: (Work | null)[]
let stop: () => void
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database?.drop())
beforeEach(async () => {
  await database.clear()
  here = await openPostgres(database.url, runtime)
  there = await openPostgres(database.url, runtime)
  heard = []
  stop = here.hot.onWake?.((work) => heard.push(work)) ?? expect.fail('PostgreSQL can wake')
  await expect.poll(() => heard).toEqual([null])
  heard.length = 0
})
afterEach(async () => {
  await here?.close()
  await there?.close()
})

async function workspace(storage: Storage): Promise<string> {
  const row = make.workspace()
  await storage.write(async ({ workspaces, credits, webhooks }) => {
    await workspaces.insert(row)
    await webhooks.insert(make.webhook(row.id))
    await credits.open(row.id, runtime.now())
    await credits.post(row.id, make.grant(units(100 * SMS_PRICE)))
  })
  return row.id
}

describe('a server hears', () => {
  it('of messages that another accepted, and of deliveries that it queued', async () => {
    const id = await workspace(there)
    const request = make.send(id)
    await there.hot.accept([request])
    await expect.poll(() => heard).toEqual(['messages'])
    await there.hot.settle([
      {
        workspace_id: id,
        message_id: only(request.messages).id,
        token: null,
        provider: 'carrier',
        abilities: { idempotent: false, lookup: false },
        result: callback('sent'),
        at: runtime.now(),
      },
    ])
    await expect.poll(() => heard).toEqual(['messages', 'deliveries'])
  })

  it('nothing of its own work, and nothing of what is due later or was refused', async () => {
    const id = await workspace(there)
    await here.hot.accept([make.send(id)])
    const scheduled_at = new Date(Date.now() + 60_000)
    await there.hot.accept([make.send(id, { scheduled_at })])
    await there.hot.accept([make.bulk(id, 101)])
    await there.hot.accept([make.send(id)])
    await expect.poll(() => heard).toEqual(['messages'])
  })

  it('of much work a few times only, and at least once after the last of it', async () => {
    const id = await workspace(there)
    for (let i = 0; i < 50; i++) await there.hot.accept([make.send(id)])
    heard.length = 0
    await there.hot.accept([make.send(id)])
    await expect.poll(() => heard.length).toBeGreaterThan(0)
    expect(heard.length).toBeLessThan(5)
  })

  it('nothing more once it has stopped', async () => {
    const id = await workspace(there)
    const others: unknown[] = []
    here.hot.onWake?.((work) => others.push(work))
    stop()
    await there.hot.accept([make.send(id)])
    await expect.poll(() => others).toEqual(['messages'])
    expect(heard).toEqual([])
  })

  it('that it may have missed something when its connection was lost, and then goes on', async () => {
    const id = await workspace(there)
    const owner = await database.connect()
    await owner.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen %'",
    )
    await expect.poll(() => heard, { timeout: 10_000 }).toEqual([null])
    await there.hot.accept([make.send(id)])
    await expect.poll(() => heard).toEqual([null, 'messages'])
  })
})
