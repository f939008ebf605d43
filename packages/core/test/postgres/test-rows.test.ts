import pg from 'pg'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { units } from '../../src/contract/fields/units.ts'
import type { Storage } from '../../src/storage/ports/storage.ts'
import { openPostgres } from '../../src/storage/postgres/postgres.ts'
import { builders, testRuntime } from '../fixtures.ts'
import { createDatabase, type TestDatabase } from '../postgres-database.ts'

/** As many live messages of one workspace, and as many test messages of another. */
const MANY = 20_000

const RECIPIENT = '+255700000009'

const runtime = testRuntime('rows')
const make = builders(runtime)

let database: TestDatabase
let storage: Storage
let owner: pg.Client
/** Mostly live messages, and a few of a test key. */
let busy: string

beforeAll(async () => {
  database = await createDatabase()
  storage = await openPostgres(database.url, testRuntime('storage'))
  owner = await database.connect()
  busy = await workspaceWith(true)
  const rehearsing = await workspaceWith(false)
  const test = { livemode: false, credits_used: units(0), recipient: RECIPIENT }
  await storage.hot.accept(Array.from({ length: 3 }, () => make.send(busy, test)))
  await storage.hot.accept([make.send(rehearsing, { credits_used: units(0) })])
  await owner.query('vacuum analyze messages')
})
afterAll(async () => {
  await storage?.close()
  await database?.drop()
})

async function workspaceWith(livemode: boolean): Promise<string> {
  const row = make.workspace()
  await storage.write(async ({ workspaces, credits }) => {
    await workspaces.insert(row)
    await credits.open(row.id, runtime.now())
  })
  await storage.hot.accept([make.send(row.id, { livemode, credits_used: units(0) })])
  await owner.query(
    `insert into messages select r.* from messages t, generate_series(1, ${MANY}) i
     cross join lateral jsonb_populate_record(t, jsonb_build_object('id', lpad(i::text, 36, '0'))) r
     where t.workspace_id = $1`,
    [row.id],
  )
  // As the service counts them: their ids are lower than the one that it counted.
  await owner.query(
    `update message_counts set first_id = lpad('1', 36, '0') where workspace_id = $1 and first_id is not null`,
    [row.id],
  )
  return row.id
}

/** The plans of the queries about test messages that `work` sends. */
async function plansOf(work: () => Promise<unknown>): Promise<string[]> {
  const spy = vi.spyOn(pg.Client.prototype, 'query')
  await work()
  const queries = (spy.mock.calls as unknown as [{ text?: string }, unknown[]][]).filter(
    ([query]) => query?.text?.includes('"livemode" = false'),
  )
  spy.mockRestore()
  const plans: string[] = []
  for (const [{ text }, values] of queries) {
    const { rows } = await owner.query(`explain ${text}`, values)
    plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'))
  }
  return plans
}

const page = { limit: 50, offset: 0 }

it.each([
  ['all', {}],
  ['those of a channel and a status', { channel: 'sms' as const, status: 'queued' as const }],
  ['those to a recipient', { recipient: RECIPIENT }],
  ['those of a time', { from: new Date('2026-01-01') }],
])('finds %s in the index of test messages, however many live ones there are', async (_, only) => {
  const filter = { livemode: false as const, ...only }
  const { messages } = storage.read
  const plans = await plansOf(async () => {
    expect(await messages.list(busy, filter, page)).toHaveLength(3)
    expect(await messages.count(busy, filter)).toBe(3)
  })
  expect(plans.length).toBeGreaterThan(0)
  for (const plan of plans) {
    expect(plan).toMatch(/Index (Only )?Scan.* using messages_test/)
    expect(plan).not.toContain('Seq Scan')
  }
})
