import type pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { units } from '../../src/contract/fields/units.ts'
import { inspectDatabase } from '../../src/maintenance/inspect/inspect.ts'
import { verifyLedger } from '../../src/maintenance/ledger/verify-ledger.ts'
import { enablePartitions, inspectPartitions } from '../../src/maintenance/partitions/partitions.ts'
import { createRecipientIndex } from '../../src/messages/index-recipients.ts'
import { createHistoryRetention } from '../../src/retention/history.ts'
import type { MessageRow } from '../../src/rows/rows.ts'
import { openPostgres } from '../../src/storage/postgres/postgres.ts'
import { testRuntime } from '../fixtures.ts'
import { createDatabase, type TestDatabase } from '../postgres-database.ts'
import { benchFor, EVERYTHING } from '../storage/bench.ts'

const ACCEPTED = { type: 'accepted', provider_message_id: 'P1', lookup_after_ms: null } as const
const REFUSED = { type: 'rejected', error_code: 'unroutable', error_message: 'No route' } as const

let database: TestDatabase
let owner: pg.Client
beforeEach(async () => {
  database = await createDatabase()
  owner = await database.connect()
})
afterEach(() => database?.drop())

// Its clock begins on 2026-05-04.
const bench = benchFor(async () => {
  // Ids of events and deliveries are of the time of the bench.
  const runtime = { ...testRuntime('months'), id: () => bench.clock.id() }
  const storage = await openPostgres(database.url, runtime, { clock: 'caller' })
  return {
    storage,
    reopen: () => Promise.reject(new Error('not used')),
    close: () => storage.close(),
  }
})

/** Sends all that is due: the first message of each call is refused, and so refunded. */
async function send(): Promise<void> {
  for (const [i, each] of (await bench.claimMessages()).entries()) {
    const outcome = i === 0 ? REFUSED : ACCEPTED
    expect(await bench.settle(each, { task: 'send', attempt: 1, outcome })).toBe(true)
  }
}

async function deliver(): Promise<void> {
  for (;;) {
    const claimed = await bench.claimDeliveries()
    for (const each of claimed) expect(await bench.record(each)).toBe(true)
    if (claimed.length === 0) return
  }
}

/** Messages of one day: single ones, one of a test key, a bulk, and what follows from them. */
async function day(workspaceId: string, at: string): Promise<void> {
  bench.clock.set(new Date(at))
  const rows: MessageRow[] = []
  for (let i = 0; i < 4; i++) rows.push(await bench.queued(workspaceId))
  await bench.queued(workspaceId, { credits_used: units(0), livemode: false })
  const bulk = bench.make.bulk(workspaceId, 3)
  await bench.accept({ ...bulk, bulk: bench.make.bulkRow(bulk.messages) })
  await send()
  for (const row of rows.slice(2)) expect(await bench.callback(row, 'delivered')).toBe(true)
  await deliver()
}

const removal = (days: number) =>
  createHistoryRetention({ storage: bench.storage, runtime: bench.clock, days })

async function namesOf(): Promise<string[]> {
  const [messages] = await inspectPartitions(database.url)
  return messages?.partitions.map(({ name }) => name.replace('messages_', '')) ?? []
}

const listed = async (workspaceId: string) =>
  (await bench.storage.read.messages.list(workspaceId, {}, EVERYTHING)).map(({ id }) => id)

async function assertSound(): Promise<void> {
  expect((await inspectDatabase(database.url)).faults).toMatchObject({
    messages_gone: 0,
    deliveries_gone: 0,
    counts_differ: 0,
  })
  const { ok, differences } = await verifyLedger(database.url)
  expect({ ok, differences }).toEqual({ ok: true, differences: [] })
}

/** Refuses every removal of a single message. */
async function refuseSingleRemovals(): Promise<void> {
  await owner.query(`create function refuse() returns trigger language plpgsql as
    $$ begin raise exception 'a single row was removed'; end $$`)
  for (const table of ['messages', 'events', 'message_attempts']) {
    await owner.query(
      `create trigger refuse before delete on ${table} for each row execute function refuse()`,
    )
  }
}

async function remaining(): Promise<string[]> {
  const { rows } = await owner.query<{ name: string }>(
    `select relname as name from pg_class where relname like 'removed\\_%' and relkind = 'r' and relname <> 'removed_history'`,
  )
  return rows.map(({ name }) => name)
}

/** Two workspaces with messages of May (in the first partition), July and August. */
async function twoWorkspaces(): Promise<[string, string]> {
  const one = await bench.workspace(1_000)
  const two = await bench.workspace(1_000)
  await bench.webhook(one)
  await enablePartitions(database.url, { now: bench.clock.now(), ahead: 6 })
  for (const at of ['2026-05-05T09:00Z', '2026-07-31T23:59Z', '2026-08-03T10:00Z']) {
    await day(one, at)
    await day(two, at)
  }
  return [one, two]
}

describe('the removal of a month', () => {
  it('removes it at once with its totals, and leaves no row of it', async () => {
    const [one, two] = await twoWorkspaces()
    bench.clock.set(new Date('2026-08-04T10:00Z'))
    await createRecipientIndex(
      { storage: bench.storage, runtime: bench.clock },
      { batch: 4, segment_max: 8 },
    ).write(() => false)
    const before = await listed(one)
    const kept = before.slice(0, 8)
    await refuseSingleRemovals()
    bench.clock.set(new Date('2026-10-20Z'))
    await removal(60).apply(() => false)
    expect(await namesOf()).toEqual([...['2026_08', '2026_09', '2026_10', '2026_11', 'default']])
    expect(await remaining()).toEqual([])
    expect(await listed(one)).toEqual(kept)
    expect(await listed(two)).toHaveLength(8)
    const { rows } = await owner.query(
      `select (select sum(count)::int from message_counts where unit = 'all') as total,
         (select count(*)::int from message_counts where since > '1971-01-01' and since < '2026-08-01') as old_periods,
         (select count(*)::int from bulks) as bulks, (select sum(messages)::int from removed_history) as removed,
         (select count(*)::int from recipient_entries where message_id < $1) as entries,
         (select count(*)::int from deliveries where message_id < $1) as deliveries`,
      [kept.at(-1)],
    )
    expect(rows).toEqual([
      { total: 16, old_periods: 0, bulks: 0, removed: 32, entries: 0, deliveries: 0 },
    ])
    expect(await bench.storage.read.recipientIndex.state(one)).toMatchObject({ late: 0 })
    await assertSound()
    await bench.queued(one)
    await send()
    await assertSound()
  }, 120_000)

  it('waits for a month that is not finished, and then removes its rows one by one', async () => {
    const [one] = await twoWorkspaces()
    bench.clock.set(new Date('2026-08-05T10:00Z'))
    const old = await bench.queued(one, { scheduled_at: new Date('2027-03-01Z') })
    // May is removed; August has a message in the queue.
    bench.clock.set(new Date('2026-10-20Z'))
    await removal(30).apply(() => false)
    expect((await namesOf())[0]).toBe('2026_08')
    expect(await listed(one)).toHaveLength(9)
    bench.clock.set(new Date('2026-12-20Z'))
    await removal(30).apply(() => false)
    expect(await listed(one)).toEqual([old.id])
    expect((await namesOf())[0]).toBe('2026_08')
    await assertSound()
    bench.clock.set(new Date('2027-03-01Z'))
    await send()
    await assertSound()
  }, 120_000)

  it('names what keeps a month, and keeps all of it', async () => {
    const [one] = await twoWorkspaces()
    const [first] = (await listed(one)).slice(-1)
    const at = new Date('2026-07-15Z')
    bench.clock.set(new Date('2026-08-04Z'))
    const reasons: unknown[] = []
    const storage = await openPostgres(
      database.url,
      {
        ...testRuntime('reasons'),
        log: {
          debug: () => {},
          info: (fields: object) => void reasons.push((fields as { reason?: string }).reason),
          warn: () => {},
          error: () => {},
        },
      },
      { clock: 'caller' },
    )
    const reasonAfter = async (text: string, undo: string) => {
      await owner.query(text)
      reasons.length = 0
      const which = { until: at, at: bench.clock.now(), isStopping: () => false }
      expect(await storage.removeMonths?.({ ...which, quiet_since: at })).toBe(true)
      expect((await namesOf())[0]).toBe('first')
      await owner.query(undo)
      return reasons.filter((reason) => reason !== undefined)
    }
    const update = (what: string) => `update messages set ${what} where id = '${first}'`
    await owner.query('create table saved_bulks as select * from bulks')
    await owner.query(
      `delete from bulks where id < '019f`.concat(`0000-0000-7000-8000-000000000000'`),
    )
    expect(await reasonAfter(update(`status = 'queued'`), update(`status = 'failed'`))).toEqual([
      'a message is not finished, or changed lately',
    ])
    expect(
      await reasonAfter(
        update('credits_refunded = credits_refunded - 1'),
        update('credits_refunded = credits_refunded + 1'),
      ),
    ).toEqual(['a message does not agree with the ledger'])
    expect(
      await reasonAfter(
        update(`created_at = created_at + interval '60 days'`),
        update(`created_at = created_at - interval '60 days'`),
      ),
    ).toEqual(['a clock was set back'])
    const counts = (n: number) =>
      `update message_counts set count = count + ${n} where unit = 'day' and since < '2026-06-01' and status = 'failed'`
    expect(await reasonAfter(counts(1), counts(-1))).toEqual(['messages came or went'])
    expect(
      await reasonAfter(
        'insert into bulks select * from saved_bulks on conflict do nothing',
        'select 1',
      ),
    ).toEqual(['a bulk has messages that are not finished or old enough'])
    await storage.close()
    await assertSound()
  }, 120_000)

  it('is complete in the books when it was stopped before its end, and goes on', async () => {
    const [one] = await twoWorkspaces()
    bench.clock.set(new Date('2026-10-20Z'))
    await owner.query(`create function stop_here() returns trigger language plpgsql as
      $$ begin raise exception 'killed'; end $$`)
    await owner.query(
      `create trigger stop_here before delete on message_counts for each row execute function stop_here()`,
    )
    await expect(removal(60).apply(() => false)).rejects.toThrow()
    expect(await remaining()).toContain('removed_messages_first')
    expect(await listed(one)).toHaveLength(16)
    await assertSound()
    const sent = await bench.queued(one)
    await send()
    expect(await listed(one)).toContain(sent.id)
    await assertSound()
    await owner.query('drop trigger stop_here on message_counts')
    // Stopped in its second step, too.
    let steps = 0
    await removal(60).apply(() => ++steps > 2)
    await assertSound()
    await removal(60).apply(() => false)
    expect(await remaining()).toEqual([])
    expect(await listed(one)).toHaveLength(9)
    await assertSound()
  }, 120_000)

  it('lets sends go on while a table is in use, and is tried again', async () => {
    const [one] = await twoWorkspaces()
    bench.clock.set(new Date('2026-10-20Z'))
    const reader = await database.connect()
    await reader.query('begin')
    await reader.query('select from delivery_attempts')
    const removing = removal(60).apply(() => false)
    const waits = `select from pg_locks where relation = 'delivery_attempts'::regclass and not granted`
    await expect.poll(async () => (await owner.query(waits)).rowCount, { interval: 20 }).toBe(1)
    await bench.queued(one)
    await send()
    expect(await namesOf()).toContain('first')
    await reader.query('commit')
    await removing
    expect((await namesOf())[0]).toBe('2026_08')
    await assertSound()
  }, 120_000)

  it('keeps a month that gets a message while it waits for the tables', async () => {
    const [one] = await twoWorkspaces()
    bench.clock.set(new Date('2026-10-20Z'))
    const reader = await database.connect()
    await reader.query('begin')
    await reader.query('select from delivery_attempts')
    const removing = removal(60).apply(() => false)
    const waits = `select from pg_locks where relation = 'delivery_attempts'::regclass and not granted`
    await expect.poll(async () => (await owner.query(waits)).rowCount, { interval: 20 }).toBe(1)
    // As an import for a new workspace writes it.
    await owner.query(
      `create temp table imported as select * from messages where workspace_id = $1 order by id limit 1`,
      [one],
    )
    await owner.query(`update imported set workspace_id = 'imported'`)
    await owner.query('insert into messages select * from imported')
    await reader.query('commit')
    await removing
    expect((await namesOf()).slice(0, 2)).toEqual(['first', '2026_08'])
    expect(await listed('imported')).toHaveLength(1)
  }, 120_000)
})
