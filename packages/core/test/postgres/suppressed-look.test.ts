import pg from 'pg'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { openPostgres } from '../../src/storage/postgres/postgres.ts'
import { testRuntime } from '../fixtures.ts'
import { sentBy } from '../postgres-client.ts'
import { createDatabase, type TestDatabase } from '../postgres-database.ts'
import { benchFor } from '../storage/bench.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database?.drop())

const bench = benchFor(async () => {
  await database.clear()
  const storage = await openPostgres(database.url, testRuntime('storage'), { clock: 'caller' })
  return {
    storage,
    reopen: () => Promise.reject(new Error('not used')),
    close: () => storage.close(),
  }
})

/** The number of messages that a claim took, and of its queries for suppressed addresses. */
async function claim(): Promise<{ taken: number; looks: number }> {
  const spy = vi.spyOn(pg.Client.prototype, 'query')
  try {
    const taken = await bench.claimMessages()
    const sent = spy.mock.calls.flatMap(([query]) => sentBy(query))
    return {
      taken: taken.length,
      looks: sent.filter(({ statement }) => statement.name === 'find_suppressed').length,
    }
  } finally {
    spy.mockRestore()
  }
}

it('a claim queries the suppressed addresses once, and only if a message waited', async () => {
  const workspaceId = await bench.workspace()
  await bench.accept(bench.make.bulk(workspaceId, 20))
  expect(await claim()).toEqual({ taken: 20, looks: 0 })

  const scheduled_at = new Date(bench.clock.now().getTime() + 1_000)
  for (let i = 0; i < 3; i++) await bench.queued(workspaceId, { scheduled_at })
  bench.clock.set(scheduled_at)
  await bench.accept(bench.make.bulk(workspaceId, 20))
  expect(await claim()).toEqual({ taken: 23, looks: 1 })
})
