import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inspectDatabase } from '../../src/maintenance/inspect/inspect.ts'
import { openPostgres } from '../../src/storage/postgres/postgres.ts'
import { testRuntime } from '../fixtures.ts'
import { keptOpen } from '../postgres/kept-open.ts'
import { createDatabase, type TestDatabase } from '../postgres-database.ts'
import { acceptContract } from '../storage/accept.contract.ts'
import { benchFor, EVERYTHING, only } from '../storage/bench.ts'
import { claimDeliveriesContract } from '../storage/claim-deliveries.contract.ts'
import { claimMessagesContract } from '../storage/claim-messages.contract.ts'
import { fanOutContract } from '../storage/fan-out.contract.ts'
import { recordDeliveriesContract } from '../storage/record-deliveries.contract.ts'
import { settleContract } from '../storage/settle.contract.ts'
import { PARTITIONED, sqlOfPlan, statementsOf } from './plan.ts'

const ACCEPTED = { type: 'accepted', provider_message_id: 'P1', lookup_after_ms: null } as const

/** A migrated database on which the page's SQL has been defined. */
async function prepared(): Promise<{ database: TestDatabase; owner: pg.Client }> {
  const database = await createDatabase()
  const storage = await openPostgres(database.url, testRuntime('prepared'))
  await storage.close()
  const owner = await database.connect()
  await owner.query(sqlOfPlan('tools'))
  return { database, owner }
}

/** Partitions every history: the first day of the tests' clock, the rest of its month, and the year after it. */
async function partitionAll(owner: pg.Client): Promise<void> {
  for (const [name, column] of Object.entries(PARTITIONED)) {
    await owner.query(`call svc_partition('${name}', '${column}', '2026-05-05Z')`)
    const bounds = ['2026-05-05Z', '2026-06-01Z', '2026-07-01Z', '2027-07-01Z']
    for (const [i, since] of bounds.slice(0, -1).entries()) {
      await owner.query(
        `call svc_add_partition('${name}', '${column}', '${since}', '${bounds[i + 1]}')`,
      )
    }
  }
}

/** Which partition each row of a table is in, in the order of ids. */
async function placesOf(owner: pg.Client, table: keyof typeof PARTITIONED): Promise<string[]> {
  const { rows } = await owner.query<{ place: string }>(
    `select tableoid::regclass::text as place from ${table} order by ${PARTITIONED[table]}`,
  )
  return rows.map(({ place }) => place)
}

/** What each index of the tables consists of, by table. */
async function indexesOf(owner: pg.Client, tables: string): Promise<Record<string, string[]>> {
  const { rows } = await owner.query<{ name: string; indexes: string[] }>(
    `select tablename as name, array_agg(substring(indexdef from ' USING .*') order by substring(indexdef from ' USING .*')) as indexes
     from pg_indexes where tablename ~ $1 group by tablename`,
    [tables],
  )
  return Object.fromEntries(rows.map(({ name, indexes }) => [name, indexes]))
}

describe('the storage on tables that are partitioned by time', () => {
  let database: TestDatabase
  let owner: pg.Client
  let plain: Record<string, string[]>
  beforeAll(async () => {
    ;({ database, owner } = await prepared())
    plain = await indexesOf(owner, `^(${Object.keys(PARTITIONED).join('|')})$`)
    await partitionAll(owner)
  })
  const { open, end } = keptOpen(() => database)
  afterAll(async () => {
    await end()
    await database?.drop()
  })

  it.each(Object.keys(PARTITIONED))(
    'every partition of %s has the indexes of the table',
    async (name) => {
      const now = await indexesOf(owner, `^${name}(_until)?(_\\d+_\\d+_\\d+)?$`)
      expect(Object.keys(now)).toHaveLength(5)
      for (const indexes of Object.values(now)) expect(indexes).toEqual(plain[name])
    },
  )

  describe('accept', () => acceptContract(open))
  describe('claimMessages', () => claimMessagesContract(open))
  describe('settle', () => settleContract(open))
  describe('fan-out', () => fanOutContract(open))
  describe('claimDeliveries', () => claimDeliveriesContract(open))
  describe('recordDeliveries', () => recordDeliveriesContract(open))

  describe('over several partitions', () => {
    const bench = benchFor(open)

    it('settles in one batch what was accepted in different months', async () => {
      const workspaceId = await bench.workspace()
      await bench.webhook(workspaceId)
      const accepted = []
      for (const day of ['2026-05-04', '2026-05-20', '2026-06-10']) {
        bench.clock.set(new Date(`${day}T09:00:00Z`))
        accepted.push(await bench.queued(workspaceId))
      }
      const claimed = await bench.claimMessages()
      const counted = await bench.storage.hot.settle(
        claimed.map(({ workspace_id, message_id, token }) => ({
          workspace_id,
          message_id,
          token,
          provider: 'carrier',
          abilities: { idempotent: false, lookup: false },
          result: { task: 'send', attempt: 1, outcome: ACCEPTED },
          at: bench.clock.now(),
        })),
      )
      expect(counted).toEqual([true, true, true])
      const places = ['until_2026_05_05', '2026_05_05', '2026_06_01']
      for (const table of ['messages', 'message_attempts'] as const) {
        expect(await placesOf(owner, table)).toEqual(places.map((place) => `${table}_${place}`))
      }
      for (const delivery of await bench.claimDeliveries())
        expect(await bench.record(delivery)).toBe(true)
      const page = await bench.storage.read.messages.list(workspaceId, {}, EVERYTHING)
      expect(page.map(({ id, status }) => [id, status])).toEqual(
        accepted.map(({ id }) => [id, 'sent']).reverse(),
      )
    })
  })
})

describe('the steps of the page', () => {
  let database: TestDatabase
  let owner: pg.Client
  beforeAll(async () => {
    ;({ database, owner } = await prepared())
  })
  afterAll(() => database?.drop())

  const bench = benchFor(async () => {
    const storage = await openPostgres(database.url, testRuntime('steps'), { clock: 'caller' })
    return {
      storage,
      reopen: () => Promise.reject(new Error('not used')),
      close: () => storage.close(),
    }
  })

  it('partition a table in use without copying it, and let the old months go', async () => {
    const workspaceId = await bench.workspace()
    const before = await bench.queued(workspaceId)
    const scheduled = await bench.queued(workspaceId, { scheduled_at: new Date('2026-06-03Z') })
    const file = "select pg_relation_filenode('messages') as node"
    const { node } = only((await owner.query(file)).rows)
    const rowsInUse = async () => {
      const counts = await Promise.all(
        statementsOf(sqlOfPlan('in use')).map((query) => owner.query(query)),
      )
      return counts.map(({ rows }) => Number(only(rows).count))
    }

    // The same server keeps its connections and its prepared statements.
    for (const statement of statementsOf(sqlOfPlan('partition'))) await owner.query(statement)
    const moved = "select pg_relation_filenode('messages_until_2026_06_01') as node"
    expect(only((await owner.query(moved)).rows).node).toBe(node)
    expect(await bench.message(workspaceId, before.id)).toEqual(before)

    const first = only(await bench.claimMessages())
    expect(first.message_id).toBe(before.id)
    expect(await bench.settle(first, { task: 'send', attempt: 1, outcome: ACCEPTED })).toBe(true)
    bench.clock.set(new Date('2026-06-02Z'))
    const after = await bench.queued(workspaceId)
    expect(await placesOf(owner, 'messages')).toEqual([
      'messages_until_2026_06_01',
      'messages_until_2026_06_01',
      'messages_2026_06_01',
    ])

    // What is scheduled still needs the old month; when it is sent, the month may go.
    expect(await rowsInUse()).toEqual([1, 0])
    bench.clock.set(new Date('2026-06-03Z'))
    for (const claimed of await bench.claimMessages()) {
      expect(await bench.settle(claimed, { task: 'send', attempt: 1, outcome: ACCEPTED })).toBe(
        true,
      )
    }
    expect(await bench.message(workspaceId, scheduled.id)).toMatchObject({ status: 'sent' })
    expect(await rowsInUse()).toEqual([0, 0])
    for (const statement of statementsOf(sqlOfPlan('detach'))) await owner.query(statement)

    await owner.query(sqlOfPlan('totals'))

    const { messages } = bench.storage.read
    const left = await messages.list(workspaceId, {}, EVERYTHING)
    expect(left.map(({ id }) => id)).toEqual([after.id])
    expect(await messages.count(workspaceId, {})).toBe(1)
    expect(await messages.count(workspaceId, { until: new Date('2026-06-30Z') })).toBe(1)
    expect(await bench.callback(before, 'delivered')).toBe(false)
    const kept = await owner.query('select id from messages_until_2026_06_01 order by id')
    expect(kept.rows).toEqual([{ id: before.id }, { id: scheduled.id }])
    await owner.query(
      "alter table messages attach partition messages_until_2026_06_01 for values from (minvalue) to (svc_id_at('2026-06-01Z'))",
    )
    await owner.query(sqlOfPlan('totals').replaceAll('-count(*)', 'count(*)'))
    expect(await bench.callback(before, 'delivered')).toBe(true)
    expect(await messages.count(workspaceId, {})).toBe(3)
    expect((await inspectDatabase(database.url)).faults.counts_differ).toBe(0)
  })
})
