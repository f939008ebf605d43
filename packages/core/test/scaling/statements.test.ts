import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { enablePartitions } from '../../src/maintenance/partitions/partitions.ts'
import { PARTITIONED } from '../../src/storage/postgres/engine/partitions/state.ts'
import { openPostgres } from '../../src/storage/postgres/postgres.ts'
import { testRuntime } from '../fixtures.ts'
import { sentBy } from '../postgres-client.ts'
import { createDatabase, type TestDatabase } from '../postgres-database.ts'
import { benchFor, only } from '../storage/bench.ts'
import { LIMITS } from './plan.ts'

/**
 * Statements of the hot verbs whose conditions do not name a workspace, so that no engine could send them to the one
 * node that has the row. The page names each.
 */
const ACROSS_WORKSPACES = [
  'dequeue_deliveries',
  'dequeue_messages',
  'find_api_keys',
  'lease_messages',
  'requeue_deliveries',
  'requeue_messages',
  'take_due_deliveries',
  'take_due_messages',
]

/** They carry rows of a workspace with it, or have no rows at all. */
const WITHOUT_CONDITIONS = /^(insert|journal|queue|notify|read_time$)/

/** Statements without rows. */
const COMMANDS = ['begin', 'commit', 'discard plans']

const REJECTED = { type: 'rejected', error_code: 'unroutable', error_message: 'no' } as const
const LATER = { type: 'retry', error_code: 'busy', error_message: 'busy', delay_ms: 0 } as const

let database: TestDatabase
let owner: pg.Client
beforeAll(async () => {
  database = await createDatabase()
  owner = await database.connect()
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

/** One message of a workspace through everything: two tries, a refund, two webhooks of which one is tried again. */
async function wholeWay(workspaceId: string): Promise<void> {
  const key = bench.make.apiKey(workspaceId)
  await bench.storage.write(({ apiKeys }) => apiKeys.insert(key))
  await bench.storage.hot.findApiKey(key.key_hash)
  for (let i = 0; i < 2; i++) await bench.webhook(workspaceId)
  const answer = { route: 'send', key: 'k', request_hash: 'h', response: '{}' }
  await bench.accept(bench.make.send(workspaceId, {}, answer))
  const first = only(await bench.claimMessages())
  await bench.settle(first, { task: 'send', attempt: 1, outcome: LATER })
  bench.clock.advance(60_000)
  const second = only(await bench.claimMessages())
  expect(await bench.settle(second, { task: 'send', attempt: 2, outcome: REJECTED })).toBe(true)
  const [one, other] = await bench.claimDeliveries()
  if (!one || !other) throw new Error('two deliveries were expected')
  expect(await bench.record(one)).toBe(true)
  expect(await bench.record(other, { response_status: 503 })).toBe(true)
}

/** Whether the rows are found by their workspace. What is due is taken from all of them, whatever is joined later. */
function namesWorkspace(text: string): boolean {
  return !text.includes('due_at <=') && /workspace_id =|using \(workspace_id/.test(text)
}

/** What the statements were that `work` sent by name. */
async function statementsOf(work: () => Promise<void>): Promise<Map<string, pg.QueryConfig>> {
  const spy = vi.spyOn(pg.Client.prototype, 'query')
  try {
    await work()
    const sent = spy.mock.calls.flatMap(([query]) => sentBy(query))
    const ofRows = sent.filter(({ statement }) => !COMMANDS.includes(statement.text))
    return new Map(
      ofRows.map(({ statement, values }) => [
        statement.name,
        { text: statement.text, values: [...values] },
      ]),
    )
  } finally {
    spy.mockRestore()
  }
}

describe('the statements of the hot verbs', () => {
  it('name the workspace in their conditions, but for those that are listed', async () => {
    const workspaceId = await bench.workspace()
    const statements = await statementsOf(() => wholeWay(workspaceId))
    const across = [...statements]
      .filter(([name, { text }]) => !WITHOUT_CONDITIONS.test(name) && !namesWorkspace(text))
      .map(([name]) => name)
    expect(statements.size).toBeGreaterThan(20)
    expect(across.sort()).toEqual(ACROSS_WORKSPACES)
    for (const name of ACROSS_WORKSPACES) expect(LIMITS).toContain(`\`${name}\``)
  })

  it('change nothing of a workspace whose rows have the same ids', async () => {
    const [workspaceId, twin] = [await bench.workspace(), await bench.workspace()]
    const histories = [...Object.keys(PARTITIONED), 'webhooks', 'ledger_entries']
    const twins = async () => {
      const found: unknown[][] = []
      for (const table of [...histories, 'credit_accounts']) {
        const all = `select * from ${table} t where workspace_id = $1 order by t::text`
        found.push((await owner.query(all, [twin])).rows)
      }
      return found
    }
    // Real ids are unique. If only the workspace distinguishes rows, a join without it also takes the twin's rows.
    const copy = async () => {
      for (const table of histories.filter((name) => name !== 'ledger_entries')) {
        await owner.query(
          `insert into ${table} select r.* from ${table} t
           cross join lateral json_populate_record(t, json_build_object('workspace_id', $2::text)) r
           where t.workspace_id = $1 on conflict do nothing`,
          [workspaceId, twin],
        )
      }
      return twins()
    }
    for (let i = 0; i < 2; i++) await bench.webhook(workspaceId)
    await bench.accept(bench.make.send(workspaceId))
    let copied = await copy()
    const claimed = only(await bench.claimMessages())
    expect(await twins()).toEqual(copied)
    copied = await copy()
    expect(copied[1]).toHaveLength(1)
    await bench.settle(claimed, { task: 'send', attempt: 1, outcome: REJECTED })
    expect(await twins()).toEqual(copied)
    copied = await copy()
    const deliveries = await bench.claimDeliveries()
    expect(deliveries).toHaveLength(2)
    for (const delivery of deliveries) {
      expect(delivery.workspace_id).toBe(workspaceId)
      expect(await bench.record(delivery)).toBe(true)
    }
    expect(await twins()).toEqual(copied)
    expect(await bench.account(workspaceId)).toMatchObject({ seq: 3 })
    expect(await bench.account(twin)).toMatchObject({ seq: 1 })
  })

  it('share a transaction among workspaces, which is what spreading them must take apart', async () => {
    const workspaces = [await bench.workspace(), await bench.workspace()]
    const before = await owner.query('select txid_current()::text as id')
    await bench.storage.hot.accept(workspaces.map((id) => bench.make.send(id)))
    const { rows } = await owner.query(
      'select distinct xmin::text from messages where xmin::text::bigint >= $1',
      [before.rows[0].id],
    )
    expect(rows).toHaveLength(1)
  })
})

describe('on partitioned tables', () => {
  it('a batch reads the one partition that has its rows', async () => {
    await enablePartitions(database.url, { now: new Date('2026-03-04Z'), ahead: 4 })
    const workspaceId = await bench.workspace()
    const statements = await statementsOf(() => wholeWay(workspaceId))
    for (const name of ['lock_messages', 'read_claimed_messages', 'settle_messages']) {
      const statement = statements.get(name)
      if (!statement) throw new Error(`${name} was not sent`)
      expect(await scannedBy(statement), name).toEqual(['messages_2026_05'])
    }
  })
})

/** The partitions of `messages` that a statement looked into, planned as the hot verbs plan it. */
async function scannedBy({ text, values = [] }: pg.QueryConfig): Promise<string[]> {
  for (const kind of ['seqscan', 'bitmapscan', 'hashjoin', 'mergejoin']) {
    await owner.query(`set enable_${kind} = off`)
  }
  await owner.query('begin')
  const { rows } = await owner.query(
    `explain (analyze, timing off, costs off, summary off) ${text}`,
    values,
  )
  await owner.query('rollback')
  return rows
    .map((row) => row['QUERY PLAN'] as string)
    .filter(
      (line) => / on messages_/.test(line) && /Scan/.test(line) && !/never executed/.test(line),
    )
    .map((line) => / on (messages_\w+)/.exec(line)?.[1] ?? line)
}
