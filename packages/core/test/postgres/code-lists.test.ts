import pg from 'pg'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import type { Storage } from '../../src/storage/ports/storage.ts'
import { openPostgres } from '../../src/storage/postgres/postgres.ts'
import { builders, testRuntime } from '../fixtures.ts'
import { createDatabase, type TestDatabase } from '../postgres-database.ts'

let database: TestDatabase
let storage: Storage
let owner: pg.Client

beforeAll(async () => {
  database = await createDatabase()
  storage = await openPostgres(database.url, testRuntime('storage'))
  owner = await database.connect()
  // A table of a few rows is read whole unless this is off.
  await owner.query('set enable_seqscan = off')
})
afterAll(async () => {
  await storage?.close()
  await database?.drop()
})

it('finds the verifications of a status in their index, in their order', async () => {
  const { id } = builders(testRuntime('code-lists')).workspace()
  const spy = vi.spyOn(pg.Client.prototype, 'query')
  for (const filter of [{}, { livemode: true }, { channel: 'sms' as const }]) {
    const asked = { status: 'approved' as const, ...filter }
    await storage.read.verifications.list(id, asked, { limit: 10, offset: 0 })
    await storage.read.verifications.count(id, asked)
  }
  const queries = (spy.mock.calls as unknown as [{ text?: string }, unknown[]][]).filter(
    ([query]) => query?.text?.includes('from "verifications"'),
  )
  spy.mockRestore()
  expect(queries).toHaveLength(6)
  for (const [{ text }, values] of queries) {
    const { rows } = await owner.query(`explain ${text}`, values)
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    expect(plan).toContain('verifications_status')
    expect(plan).not.toContain('Sort')
  }
})

it('finds what decides about a code in its indexes', async () => {
  const cases = [
    ['verifications_network', "workspace_id = 'w' and client_network = '192.0.2.1' and livemode"],
    ['verifications_other', "workspace_id = 'w' and other_recipient = '+255712345670'"],
    ['verifications_fallback', 'fallback_at <= now() and ended_at is null order by fallback_at'],
  ] as const
  for (const [index, condition] of cases) {
    const asked = `explain select id from verifications where ${condition}`
    const { rows } = await owner.query(asked)
    expect(rows.map((row) => row['QUERY PLAN']).join('\n')).toContain(index)
  }
})
