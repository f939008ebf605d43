import { afterEach, beforeEach, expect, it } from 'vitest'
import { findDamage, inspectDatabase } from '../../src/maintenance/inspect/inspect.ts'
import { createDatabase, type TestDatabase } from '../postgres-database.ts'

let database: TestDatabase
beforeEach(async () => {
  database = await createDatabase()
})
afterEach(() => database.drop())

it('reports the facts of a PostgreSQL server, and finds no fault in an empty database', async () => {
  const facts = await inspectDatabase(database.url)
  expect(facts).toMatchObject({
    engine: 'postgres',
    version: expect.stringMatching(/^\d+(\.\d+)?/),
    settings: {
      full_page_writes: expect.any(String),
      data_sync_retry: 'off',
      max_connections: expect.stringMatching(/^\d+$/),
    },
    log_bytes: null,
    newest_at: null,
    faults: { messages_gone: 0, deliveries_gone: 0, leases_ahead: 0, counts_differ: 0 },
  })
  expect(Math.abs(facts.now.getTime() - Date.now())).toBeLessThan(60_000)
  expect(facts.size_bytes).toBeGreaterThan(1_000_000)
  expect(await findDamage(database.url)).toBeNull()
})

it('reports the difference of the clocks without the duration of the query', async () => {
  const offBy = async (now: () => Date) =>
    (await inspectDatabase(database.url, { now })).clock_off_ms
  const began = Date.now()
  let readings = 0
  const slow = () => new Date(began + 60_000 * readings++)
  expect(await offBy(slow)).toBe(0)
  expect(Math.round((await offBy(() => new Date(Date.now() - 600_000))) / 60_000)).toBe(10)
  expect(Math.round((await offBy(() => new Date(Date.now() + 600_000))) / 60_000)).toBe(-10)
})

it('counts rows that contradict each other', async () => {
  const client = await database.connect()
  await client.query(`insert into message_queue (message_id, workspace_id, channel, task, due_at, attempt)
    values ('m', 'w', 'sms', 'send', now(), 0)`)
  await client.query(`insert into delivery_queue (delivery_id, workspace_id, webhook_id, due_at, token)
    values ('d', 'w', 'h', now() + interval '2 hours', 't')`)
  await client.query(
    `insert into message_counts (workspace_id, unit, since, channel, status, count) values
      ('w', 'all', to_timestamp(0), 'sms', 'sent', 2),
      ('w', 'all', to_timestamp(0), 'sms', 'read', 0)`,
  )
  await client.query(`insert into messages (id, workspace_id, channel, recipient, content, metadata, livemode,
      status, accepted, credits_used, credits_refunded, sequence, created_at, updated_at)
    values ('one that no list counts', 'w', 'sms', '+14155550123', '{}', '{}', true, 'delivered', true, 0, 0, 1, now(), now())`)
  const { faults } = await inspectDatabase(database.url)
  expect(faults).toEqual({
    messages_gone: 1,
    deliveries_gone: 1,
    leases_ahead: 1,
    counts_differ: 2,
  })
})
