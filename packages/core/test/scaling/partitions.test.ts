import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { enablePartitions } from '../../src/maintenance/partitions/partitions.ts'
import { PARTITIONED } from '../../src/storage/postgres/engine/partitions/state.ts'
import { keptOpen } from '../postgres/kept-open.ts'
import { createDatabase, type TestDatabase } from '../postgres-database.ts'
import { acceptContract } from '../storage/accept.contract.ts'
import { benchFor, EVERYTHING } from '../storage/bench.ts'
import { claimDeliveriesContract } from '../storage/claim-deliveries.contract.ts'
import { claimMessagesContract } from '../storage/claim-messages.contract.ts'
import { fanOutContract } from '../storage/fan-out.contract.ts'
import { recordDeliveriesContract } from '../storage/record-deliveries.contract.ts'
import { settleContract } from '../storage/settle.contract.ts'

const ACCEPTED = { type: 'accepted', provider_message_id: 'P1', lookup_after_ms: null } as const

/** Everything until the end of May 2026, June and July apart, and what comes later in the default partition. */
const OPTIONS = { now: new Date('2026-04-04Z'), ahead: 3 }

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
    database = await createDatabase()
    owner = await database.connect()
    plain = await indexesOf(owner, `^(${Object.keys(PARTITIONED).join('|')})$`)
    await enablePartitions(database.url, OPTIONS)
  })
  const { open, end } = keptOpen(() => database)
  afterAll(async () => {
    await end()
    await database?.drop()
  })

  it.each(Object.keys(PARTITIONED))(
    'every partition of %s has the indexes of the table',
    async (name) => {
      const now = await indexesOf(owner, `^${name}(_first|_default|_\\d+_\\d+)?$`)
      expect(Object.keys(now)).toHaveLength(1 + 1 + 2 + 1)
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
      for (const day of ['2026-05-04', '2026-06-20', '2026-07-10', '2026-08-02']) {
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
      expect(counted).toEqual([true, true, true, true])
      const places = ['first', '2026_06', '2026_07', 'default']
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
