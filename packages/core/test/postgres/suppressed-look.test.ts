import pg from 'pg'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { openPostgres } from '../../src/storage/postgres/postgres.ts'
import { testRuntime } from '../fixtures.ts'
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
    reopen: () => Promise.reject(new Error('not asked for')),
    close: () => storage.close(),
  }
})

/** How many messages a claim took, and how often it asked who is suppressed. */
async function claim(): Promise<{ taken: number; looks: number }> {
  const asked = vi.spyOn(pg.Client.prototype, 'query')
  try {
    const taken = await bench.claimMessages()
    const queries = asked.mock.calls as unknown as [pg.QueryConfig][]
    return {
      taken: taken.length,
      looks: queries.filter(([query]) => query?.name === 'find_suppressed').length,
    }
  } finally {
    asked.mockRestore()
  }
}

it('a claim asks once who is suppressed, and only where a message waited', async () => {
  const workspaceId = await bench.workspace()
  await bench.accept(bench.make.bulk(workspaceId, 20))
  expect(await claim()).toEqual({ taken: 20, looks: 0 })

  const scheduled_at = new Date(bench.clock.now().getTime() + 1_000)
  for (let i = 0; i < 3; i++) await bench.queued(workspaceId, { scheduled_at })
  bench.clock.set(scheduled_at)
  await bench.accept(bench.make.bulk(workspaceId, 20))
  expect(await claim()).toEqual({ taken: 23, looks: 1 })
})
