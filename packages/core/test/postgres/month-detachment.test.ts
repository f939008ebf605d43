import { describe, expect, it } from 'vitest'
import { createCreditSums } from '../../src/credits/credit-sums.ts'
import {
  attachPartitions,
  type DetachPartitionsOptions,
  detachPartitions,
  inspectDetached,
} from '../../src/maintenance/partitions/partitions.ts'
import { createRecipientIndex } from '../../src/messages/index-recipients.ts'
import { createRecipients } from '../../src/retention/erasure.ts'
import { createHistoryRetention } from '../../src/retention/history.ts'
import { createRetention } from '../../src/retention/retention.ts'
import { MONTHS_LOCK } from '../../src/storage/ports/storage.ts'
import { MOVED_TABLES } from '../../src/storage/postgres/engine/partitions/detached.ts'
import { monthsBench } from './months.ts'

const ASHA = '+255700000009'
/** Of the file of a message. */
const SHA256 = 'f'.repeat(64)
const going = () => false

const months = monthsBench()
const { bench, listed, namesOf, assertSound, send, deliver } = months
const recipients = () => createRecipients({ storage: bench.storage, runtime: bench.clock })
type Options = Pick<DetachPartitionsOptions, 'onStep' | 'dry_run' | 'log'>
type OnStep = NonNullable<Options['onStep']>
const detach = (options: Options & { month?: string } = {}) =>
  detachPartitions(months.database.url, { now: bench.clock.now(), ...options })
const attach = (month: string, options: Options = {}) =>
  attachPartitions(months.database.url, { now: bench.clock.now(), month, ...options })

/** Stops a command before the n-th time of a step. */
async function killedAt(
  name: Parameters<OnStep>[0]['step'],
  work: (onStep: OnStep) => Promise<unknown>,
  times = 1,
): Promise<void> {
  let seen = 0
  const onStep: OnStep = ({ step }) => {
    if (step === name && ++seen === times) throw new Error('killed')
  }
  await expect(work(onStep)).rejects.toThrow('killed')
}

/** Every table in which rows of a month are. */
const TABLES = [
  ...['messages', 'message_attempts', 'message_events', 'message_parts', 'message_files'],
  ...['events', 'deliveries', 'delivery_attempts', 'bulks', 'bulk_rejections', 'files'],
  ...['file_chunks', 'recipient_entries'],
]

/** All rows of the tables, and the sums of the others. */
async function everything(): Promise<Record<string, string[]>> {
  const all: Record<string, string[]> = {}
  const rowsOf = async (text: string) => {
    const { rows } = await months.owner.query<{ row: string }>(text)
    return rows.map(({ row }) => row)
  }
  for (const table of TABLES) {
    all[table] = await rowsOf(`select t::text as row from ${table} t order by 1`)
  }
  all.counts = await rowsOf(
    `select row(workspace_id, unit, since, channel, status, sum(count), sum(test_count), min(first_id), max(last_id))::text as row
     from message_counts group by workspace_id, unit, since, channel, status having sum(count) <> 0 order by 1`,
  )
  all.segments = await rowsOf(`select t::text as row from recipient_segments t order by 1`)
  return all
}

/** The sums of removed history, which are 0 when all months are attached. */
async function removedSums(): Promise<number[]> {
  const { rows } = await months.owner.query({
    text: `select coalesce(sum(messages), 0)::int, coalesce(sum(bulks), 0)::int, coalesce(sum(charged), 0)::int,
       coalesce(sum(refunded), 0)::int, coalesce(sum(charged_bulks), 0)::int from removed_history`,
    rowMode: 'array',
  })
  return rows[0] as unknown as number[]
}

/** The tables of all schemas that have the text in a row. */
async function tablesWith(text: string): Promise<string[]> {
  const { rows } = await months.owner.query<{ name: string }>(
    `select oid::regclass::text as name from pg_class
     where relkind = 'r' and relnamespace::regnamespace::text !~ '^(pg_|information_schema)' order by 1`,
  )
  const found: string[] = []
  for (const { name } of rows) {
    const { rowCount } = await months.owner.query(
      `select from ${name} t where strpos(t::text, $1) > 0 limit 1`,
      [text],
    )
    if (rowCount) found.push(name)
  }
  return found
}

async function erasuresRecorded(): Promise<number | null> {
  const text = `select from audit_entries where action = 'recipient.erased'`
  return (await months.owner.query(text)).rowCount
}

/** Two workspaces, and in the first month everything that can belong to a month. The present is the 20th of August. */
async function fullMonths(): Promise<[string, string]> {
  const [one, two] = await months.twoWorkspaces()
  const [bulk] = (
    await months.owner.query(`select id from bulks where workspace_id = $1 order by id`, [one])
  ).rows
  const all = (
    await bench.storage.read.messages.list(one, {}, { limit: 1_000, offset: 0 })
  ).reverse()
  const mine = all[3]
  if (!mine) throw new Error('no message')
  // A late report: its event and its delivery are of July.
  bench.clock.set(new Date('2026-07-05T10:00Z'))
  expect(await bench.callback(mine, 'read')).toBe(true)
  await deliver()
  await months.owner.query(
    `update deliveries set response_body = null where created_at between '2026-07-02' and '2026-07-20'`,
  )
  await months.owner.query(
    `insert into bulk_rejections values ($1, $2, 0, $3, 'invalid_recipient', 'no number ${ASHA}')`,
    [one, bulk.id, ASHA],
  )
  const sha256 = SHA256
  const file = { workspace_id: one, sha256, size_bytes: 6, chunks: 2 }
  await bench.storage.write(async ({ files }) => {
    await files.begin(file, bench.clock.now())
    await files.addChunk(one, sha256, 0, 'AAAA')
    await files.addChunk(one, sha256, 1, 'BBBB')
    await files.complete(one, sha256)
  })
  await months.owner.query(`insert into message_files values ($1, $2, 0, $3)`, [
    one,
    mine.id,
    sha256,
  ])
  await months.owner.query('update files set unused_since = null')
  await months.owner.query(
    `insert into message_parts values ($1, $2, 1, 1, 'carrier', 'P1', 'sent', '2026-05-05')`,
    [one, mine.id],
  )
  bench.clock.set(new Date('2026-08-20T10:00Z'))
  await createRecipientIndex(
    { storage: bench.storage, runtime: bench.clock },
    { batch: 4, segment_max: 8 },
  ).write(going)
  return [one, two]
}

describe('the detachment of a month', () => {
  it('takes the oldest month out of lists, totals and books, and brings all of it back', async () => {
    const [one, two] = await fullMonths()
    const before = await everything()
    const all = await listed(one)
    await assertSound()
    expect(await detach({ dry_run: true })).toEqual({ month: 'first', messages: 16 })
    expect(await everything()).toEqual(before)

    expect(await detach()).toEqual({ month: 'first', messages: 16 })
    expect((await namesOf())[0]).toBe('2026_07')
    expect(await listed(one)).toEqual(all.slice(0, 16))
    const [oldest] = all.slice(-1)
    expect(await bench.storage.read.messages.byId(one, oldest as string)).toBeNull()
    const { rows } = await months.owner.query(
      `select (select sum(count)::int from message_counts where unit = 'all') as total,
         (select count(*)::int from message_counts where unit <> 'all' and since < '2026-07-01') as periods,
         (select count(*)::int from bulks) as bulks, (select count(*)::int from bulk_rejections) as rejections,
         (select count(*)::int from message_files) as used, (select count(*)::int from files) as files,
         (select count(*)::int from deliveries where message_id <= $1) as deliveries`,
      [all[16]],
    )
    expect(rows).toEqual([
      { total: 32, periods: 0, bulks: 4, rejections: 0, used: 0, files: 0, deliveries: 0 },
    ])
    expect(await removedSums()).not.toEqual([0, 0, 0, 0, 0])
    expect(await bench.storage.read.recipientIndex.state(one)).toMatchObject({ late: 0 })
    await assertSound()
    expect(await inspectDetached(months.database.url)).toMatchObject([
      { month: 'first', from: null, step: 'detached', messages: 16, schema: 'svc_detached_first' },
    ])

    // A late report on a message that is not there is ignored.
    const sent = await bench.queued(two)
    await send()
    await assertSound()

    for (const dry_run of [true, false]) {
      expect(await attach('first', { dry_run })).toEqual({ month: 'first', messages: 16 })
    }
    expect(await inspectDetached(months.database.url)).toEqual([])
    expect((await namesOf()).slice(0, 2)).toEqual(['first', '2026_07'])
    expect(await listed(one)).toEqual(all)
    expect(await removedSums()).toEqual([0, 0, 0, 0, 0])
    await assertSound()
    const after = await everything()
    for (const table of [...TABLES, 'segments']) {
      const old = after[table]?.filter((row) => !row.includes(sent.id))
      expect([table, old]).toEqual([table, before[table]])
    }
    // And again, as the same tables.
    await detach()
    await attach('first')
    expect(await everything()).toEqual(after)
  }, 120_000)

  it('can be interrupted at each step, and then continues', async () => {
    const [one] = await fullMonths()
    const before = await everything()
    const interruptedAt = async (work: (onStep: () => void) => Promise<unknown>) => {
      for (let at = 1; ; at++) {
        let steps = 0
        const onStep = () => {
          if (++steps === at) throw new Error('killed')
        }
        try {
          await work(onStep)
          return at
        } catch (error) {
          expect((error as Error).message).toBe('killed')
        }
        await assertSound()
        await bench.queued(one)
        await send()
      }
    }
    // Each try gets one step further than the one before, so that each step is begun, done and repeated.
    expect(await interruptedAt((onStep) => detach({ onStep }))).toBeGreaterThan(6)
    expect(await inspectDetached(months.database.url)).toMatchObject([{ step: 'detached' }])
    expect(await interruptedAt((onStep) => attach('first', { onStep }))).toBeGreaterThan(8)
    await assertSound()
    const after = await everything()
    for (const table of TABLES) {
      expect(after[table]).toEqual(expect.arrayContaining(before[table] as string[]))
      expect([table, new Set(after[table]).size]).toEqual([table, after[table]?.length])
    }
    expect(await removedSums()).toEqual([0, 0, 0, 0, 0])
  }, 240_000)

  it('gives the bulks back when the detachment stops before the messages', async () => {
    await fullMonths()
    const before = await everything()
    let steps = 0
    const onStep = () => {
      if (++steps === 4) throw new Error('killed')
    }
    await expect(detach({ onStep })).rejects.toThrow('killed')
    expect((await everything()).bulks).not.toEqual(before.bulks)
    await assertSound()
    await attach('first')
    expect(await everything()).toEqual(before)
    expect(await removedSums()).toEqual([0, 0, 0, 0, 0])
    await assertSound()
  }, 120_000)

  it('refuses a month that is not the oldest, not finished, or not detached', async () => {
    const [one] = await fullMonths()
    const before = await everything()
    await expect(detach({ month: '2026-07' })).rejects.toMatchObject({
      code: 'not_ready',
      message: '2026-07: the oldest month is first: detach it first',
    })
    await expect(detach({ month: '2031-07' })).rejects.toThrow('2031-07: there is no such month')
    await expect(attach('first')).rejects.toMatchObject({
      code: 'not_found',
      message: 'first is not detached',
    })
    const [id] = (await listed(one)).slice(-1)
    const update = (what: string) =>
      months.owner.query(`update messages set ${what} where id = $1`, [id])
    await update(`updated_at = updated_at + interval '105 days'`)
    await expect(detach()).rejects.toMatchObject({
      code: 'not_ready',
      message: 'first cannot be detached now: a message is not finished, or changed lately',
    })
    await update(`updated_at = updated_at - interval '105 days'`)
    await months.owner.query(
      `update messages set bulk_id = (select max(bulk_id) from messages where id < '019f') where id = (select max(id) from messages)`,
    )
    await expect(detach()).rejects.toThrow('a bulk has messages of two months')
    await months.owner.query(
      `update messages set bulk_id = (select max(bulk_id) from messages) where id = (select max(id) from messages)`,
    )
    expect(await everything()).toEqual(before)

    await detach()
    await expect(detach({ month: 'first' })).rejects.toThrow('first is detached already')
    await detach({ month: '2026-07' })
    // August has not ended.
    await expect(detach()).rejects.toThrow('no month has ended: the oldest partition lasts until')
    await expect(attach('first')).rejects.toThrow('attach 2026-07 first')
    await assertSound()
    await attach('2026-07')
    await attach('first')
    expect(await everything()).toEqual(before)
  }, 120_000)

  it('refuses to attach after a migration of its tables, rows of its time, or a fold of its entries', async () => {
    const [one] = await fullMonths()
    const [row] = (await months.owner.query('select * from messages order by id limit 1')).rows
    await detach()
    const without = await everything()
    const refused = async (text: string) => {
      for (const dry_run of [true, false]) {
        await expect(attach('first', { dry_run })).rejects.toMatchObject({
          code: 'changed',
          message: expect.stringContaining(text),
        })
      }
      expect(await everything()).toEqual(without)
    }
    const note = async (change: (note: Record<string, unknown>) => void) => {
      const { rows } = await months.owner.query(
        `select obj_description('svc_detached_first'::regnamespace, 'pg_namespace') as note`,
      )
      const noted = JSON.parse(rows[0].note)
      change(noted)
      await months.owner.query(`comment on schema svc_detached_first is '${JSON.stringify(noted)}'`)
      return rows[0].note as string
    }
    const kept = await note((noted) => {
      noted.migrations = 1
    })
    await refused('which changed its tables')
    await months.owner.query(`comment on schema svc_detached_first is '${kept}'`)

    await months.owner.query('create table saved as select * from svc_detached_first.messages')
    await months.owner.query('insert into messages select * from saved where id = $1', [row.id])
    await expect(attach('first')).rejects.toThrow('messages has other rows of first or older')
    await months.owner.query('delete from messages where id = $1', [row.id])

    await createCreditSums(bench.storage).write(going)
    const at = bench.clock.now()
    const step = { until: at, kept_until: at, limit: 200, id: bench.clock.id(), at, key: 'k' }
    expect(
      await bench.storage.write(({ ledgerOpenings }) => ledgerOpenings.fold(one, step)),
    ).toMatchObject({ next: 'done' })
    await refused('a message does not agree with the ledger')
    expect(await inspectDetached(months.database.url)).toMatchObject([{ step: 'detached' }])
  }, 120_000)

  it('can undo an attachment that cannot continue', async () => {
    await fullMonths()
    const before = await everything()
    const [row] = (await months.owner.query('select * from messages order by id limit 1')).rows
    await detach()
    const without = await everything()
    await killedAt('bound', (onStep) => attach('first', { onStep }), 6)
    await months.owner.query('create table saved as select * from svc_detached_first.messages')
    await months.owner.query('insert into messages select * from saved where id = $1', [row.id])
    await expect(attach('first')).rejects.toMatchObject({
      code: 'changed',
      message:
        'messages has other rows of first or older; svc partitions detach first undoes the attachment that was interrupted',
    })
    await expect(detach()).rejects.toThrow('run svc partitions attach first first')
    await months.owner.query('delete from messages where id = $1', [row.id])
    expect(await detach({ month: 'first', dry_run: true })).toMatchObject({ messages: 16 })
    expect(await detach({ month: 'first' })).toEqual({ month: 'first', messages: 16 })
    expect(await inspectDetached(months.database.url)).toMatchObject([{ step: 'detached' }])
    expect(await everything()).toEqual(without)
    await assertSound()
    await attach('first')
    expect(await everything()).toEqual(before)
    await assertSound()
  }, 120_000)

  it.each([
    ['the undo of an attachment', true],
    ['a detachment', false],
  ])(
    'ends after a migration that changed its tables: %s',
    async (_, isAttached) => {
      await fullMonths()
      const alter = (table: string, change: string) =>
        months.owner.query(`alter table ${table} ${change}`)
      await alter('deliveries', 'add column early int not null default 1')
      await alter('deliveries', 'alter column early drop default')
      await alter('deliveries', 'add column size int not null default 3')
      // A late report: a delivery of July about a message of the month.
      const late = `select min(id) from deliveries where created_at >= '2026-07-01' and status = 'delivered'`
      await months.owner.query(
        `update deliveries d set message_id = (select min(id) from messages m where m.workspace_id = d.workspace_id)
         where id = (${late})`,
      )
      const deliveries = async () => (await everything()).deliveries?.length ?? 0
      const all = await deliveries()
      if (isAttached) {
        await detach()
        await killedAt('bound', (onStep) => attach('first', { onStep }), 6)
      } else {
        await killedAt('rest', (onStep) => detach({ onStep }))
      }
      const moved = await deliveries()
      await alter('deliveries', 'drop column early')
      await alter('deliveries', 'alter column size type bigint')
      await months.owner.query('update deliveries set size = 3000000000')
      for (const table of MOVED_TABLES) await alter(table, 'add column late int not null default 2')
      const note = `obj_description('svc_detached_first'::regnamespace, 'pg_namespace')::jsonb`
      const { rows } = await months.owner.query(`select ${note} || '{"migrations": 1}' as note`)
      await months.owner.query(
        `comment on schema svc_detached_first is '${JSON.stringify(rows[0].note)}'`,
      )
      await expect(attach('first')).rejects.toMatchObject({ code: 'changed' })
      expect(await detach({ month: 'first' })).toEqual({ month: 'first', messages: 16 })
      expect(await inspectDetached(months.database.url)).toMatchObject([{ step: 'detached' }])
      const left = await deliveries()
      expect([moved < all, left < moved]).toEqual([true, true])
      // The values of new columns and types move too; rows that were out before have none of a new column.
      const { rows: kept } = await months.owner.query(
        'select late, early, size::text, count(*)::int as n from svc_detached_first.deliveries group by 1, 2, 3 order by 1',
      )
      expect(kept).toEqual([
        { late: 2, early: null, size: '3000000000', n: moved - left },
        { late: null, early: 1, size: '3', n: all - moved },
      ])
      await assertSound()
    },
    120_000,
  )

  it('lets no ledger entry be folded while a month is half moved', async () => {
    const [one] = await fullMonths()
    await createCreditSums(bench.storage).write(going)
    const fold = () => {
      const at = bench.clock.now()
      const step = { until: at, kept_until: at, limit: 200, id: bench.clock.id(), at, key: 'k' }
      return bench.storage.write(({ ledgerOpenings }) => ledgerOpenings.fold(one, step))
    }
    const waits = { removed: 0, next: 'moving', lots_seq: 0 }
    await killedAt('check', (onStep) => detach({ onStep }), 2)
    expect(await fold()).toEqual(waits)
    await killedAt('rest', (onStep) => detach({ onStep }))
    expect(await fold()).toEqual(waits)
    await detach()
    await killedAt('bound', (onStep) => attach('first', { onStep }))
    expect(await fold()).toEqual(waits)
    await killedAt('rest', (onStep) => attach('first', { onStep }))
    expect(await fold()).toEqual(waits)
    await attach('first')
    await assertSound()
    // The entries of what exists are kept.
    expect(await fold()).toMatchObject({ removed: 0, next: 'done' })
    await assertSound()
  }, 120_000)

  it('says so in the log of a server that does not fold', async () => {
    await fullMonths()
    await killedAt('rest', (onStep) => detach({ onStep }))
    const warnings: string[] = []
    const log = { ...bench.clock.log, warn: (_: object, text: string) => void warnings.push(text) }
    bench.clock.set(new Date('2027-12-01T10:00Z'))
    await createHistoryRetention({
      storage: bench.storage,
      runtime: { ...bench.clock, log },
      days: 400,
      ledger: { days: 400, key: async () => 'k' },
    }).apply(going)
    expect(warnings).toContain(
      'no more ledger entries were folded, because a month is half detached or attached: svc partitions status names it',
    )
  }, 120_000)

  it('waits for a fold that began, and then looks at the ledger again', async () => {
    const [one] = await fullMonths()
    await detach()
    const other = await months.database.connect()
    await other.query('begin')
    await other.query(
      `select pg_advisory_xact_lock_shared(hashtextextended('folds of ledger entries', 0))`,
    )
    const attaching = attach('first')
    attaching.catch(() => {})
    const waits = `select from pg_locks where locktype = 'advisory' and not granted`
    await expect
      .poll(async () => (await months.owner.query(waits)).rowCount, { interval: 20 })
      .toBe(1)
    await other.query(
      `insert into ledger_openings values
         ($1, 'o', 1, 0, 0, 0, 0, 0, 0, 0, 0, '[]', '', 0, '', now(), now(), '')`,
      [one],
    )
    await other.query('commit')
    await expect(attaching).rejects.toMatchObject({
      code: 'not_ready',
      message: expect.stringContaining('a server folds old ledger entries'),
    })
    expect(await inspectDetached(months.database.url)).toMatchObject([{ step: 'detached' }])
    await months.owner.query('delete from ledger_openings')
    await attach('first')
    await assertSound()
  }, 120_000)

  it('erases a recipient in a detached month too', async () => {
    const [one] = await months.twoWorkspaces()
    await months.owner.query(`update messages set recipient = $1 where created_at < '2026-06-01'`, [
      ASHA,
    ])
    await months.owner.query(
      `update events set body = regexp_replace(body, '"recipient":"[^"]*"', '"recipient":"' || $1 || '"')
       where created_at < '2026-06-01'`,
      [ASHA],
    )
    const [bulk] = (await months.owner.query('select * from bulks order by id limit 1')).rows
    await months.owner.query(
      `insert into bulk_rejections values ($1, $2, 0, $3, 'invalid_recipient', 'no number ${ASHA}')`,
      [bulk.workspace_id, bulk.id, ASHA],
    )
    bench.clock.set(new Date('2026-08-20T10:00Z'))
    await detach()
    expect(await tablesWith(ASHA)).toEqual([
      'svc_detached_first.bulk_rejections',
      'svc_detached_first.events',
      'svc_detached_first.messages',
    ])
    const found = await recipients().look(ASHA)
    expect(found).toMatchObject({ messages: 16, rejections: 1 })
    expect(await recipients().erase(ASHA)).toMatchObject({ messages: 16, rejections: 1 })
    expect(await tablesWith(ASHA)).toEqual([])
    await assertSound()
    await attach('first')
    expect(await tablesWith(ASHA)).toEqual([])
    expect((await listed(one)).length).toBe(24)
    await assertSound()
  }, 120_000)

  it('erases all else when a migration changed the tables of a detached month', async () => {
    await fullMonths()
    await months.owner.query(`update messages set recipient = $1`, [ASHA])
    await months.owner.query(
      `update events set body = regexp_replace(body, '"recipient":"[^"]*"', '"recipient":"' || $1 || '"')`,
      [ASHA],
    )
    await detach()
    await detach()
    // As a later release that renamed a column.
    await months.owner.query(
      'alter table svc_detached_first.messages rename column recipients to people',
    )
    const named = { months_not_searched: ['first'] }
    expect(await recipients().look(ASHA)).toMatchObject({ rejections: 1, ...named })
    expect(await recipients().erase(ASHA)).toMatchObject({ rejections: 1, ...named })
    expect(await tablesWith(ASHA)).toEqual(['svc_detached_first.messages'])

    const errors: object[] = []
    const log = { ...bench.clock.log, error: (fields: object) => void errors.push(fields) }
    await months.owner.query(
      `update svc_detached_2026_07.messages set erased_at = null, sender = 'S'`,
    )
    await createRetention({
      storage: bench.storage,
      runtime: { ...bench.clock, log },
      days: 7,
    }).apply(going)
    expect(errors).toMatchObject([
      { month: 'first', kind: 'messages' },
      { month: 'first', kind: 'late_messages' },
    ])
    const { rows } = await months.owner.query(
      'select count(*)::int as kept from svc_detached_2026_07.messages where erased_at is null',
    )
    expect(rows).toEqual([{ kept: 0 }])

    await months.owner.query(
      'alter table svc_detached_first.messages rename column people to recipients',
    )
    expect(await recipients().erase(ASHA)).toMatchObject({ messages: 16, months_not_searched: [] })
    expect(await tablesWith(ASHA)).toEqual([])
  }, 120_000)

  it.each(['erased', 'redacted'])(
    'brings nothing back of a message that is %s while its month is half moved',
    async (how) => {
      const [one, two] = await fullMonths()
      const forget = (workspaceId: string, id: string) =>
        bench.storage.write(async ({ erasure }) => {
          if (how === 'redacted') return erasure.redact(workspaceId, id)
          return (await erasure.messages(workspaceId, [id], bench.clock.now())).length > 0
        })
      /** A message of May in a bulk to one recipient. */
      const privateBulk = async (workspaceId: string, text: string) => {
        const { rows } = await months.owner.query(
          `update bulks set accepted = 1, name = $2,
             content = case when $3 then json_build_object('body', $2::text) end
           where workspace_id = $1 and id = (select min(id) from bulks where workspace_id = $1)
           returning (select max(m.id) from messages m where m.workspace_id = $1 and m.bulk_id = bulks.id) as id`,
          // The e-mails of a bulk may differ: then it has no content.
          [workspaceId, text, how === 'redacted'],
        )
        return rows[0].id as string
      }
      const first = await privateBulk(one, 'PRIVATE 1')
      const second = await privateBulk(two, 'PRIVATE 2')
      await killedAt('check', (onStep) => detach({ onStep }), 2)
      expect(await tablesWith('PRIVATE 1')).toEqual(['svc_detached_first.bulks'])
      expect(await forget(one, first)).toBe(true)
      await attach('first')
      expect(await tablesWith('PRIVATE 1')).toEqual([])
      expect(await tablesWith('PRIVATE 2')).toEqual(['bulks'])

      await killedAt('check', (onStep) => detach({ onStep }), 2)
      expect(await forget(two, second)).toBe(true)
      await detach()
      expect(await tablesWith('PRIVATE 2')).toEqual([])

      await killedAt('rest', (onStep) => attach('first', { onStep }))
      expect(await tablesWith(SHA256)).toEqual([
        'svc_detached_first.file_chunks',
        'svc_detached_first.files',
        'svc_detached_first.message_files',
      ])
      const { rows } = await months.owner.query(
        'select message_id as id from svc_detached_first.message_files',
      )
      expect(await forget(one, rows[0].id)).toBe(true)
      await attach('first')
      expect(await tablesWith(SHA256)).toEqual([])
      await assertSound()
    },
    120_000,
  )

  it('keeps no file of a message that retention erases before its files follow', async () => {
    const [one] = await fullMonths()
    await killedAt('rest', (onStep) => detach({ onStep }))
    const { rows } = await months.owner.query('select message_id as id from message_files')
    const [month] = (await bench.storage.detachedMonths?.()) ?? []
    expect(
      await month?.write(({ erasure }) => erasure.messages(one, [rows[0].id], bench.clock.now())),
    ).toEqual([rows[0].id])
    await detach()
    expect(await tablesWith(SHA256)).toEqual([])
    await attach('first')
    expect(await tablesWith(SHA256)).toEqual([])
  }, 120_000)

  it('erases no recipient, and records no erasure, while a month is half moved', async () => {
    await fullMonths()
    const refused = async (what: string, command: string) => {
      await expect(recipients().erase(ASHA)).rejects.toMatchObject({
        code: 'rate_limit_exceeded',
        message: `The ${what} of the month first was interrupted: run svc partitions ${command} first, and then erase again`,
      })
    }
    await killedAt('check', (onStep) => detach({ onStep }), 2)
    await refused('detachment', 'detach')
    await killedAt('rest', (onStep) => detach({ onStep }))
    await refused('detachment', 'detach')
    await detach()
    await killedAt('bound', (onStep) => attach('first', { onStep }))
    await refused('attachment', 'attach')
    await killedAt('rest', (onStep) => attach('first', { onStep }))
    await refused('attachment', 'attach')
    expect(await erasuresRecorded()).toBe(0)
    await attach('first')
    expect(await recipients().erase(ASHA)).toMatchObject({ rejections: 1 })
    expect(await erasuresRecorded()).toBe(1)
    expect(await tablesWith(ASHA)).toEqual([])
  }, 120_000)

  it('lets no month move while a recipient is erased', async () => {
    await months.twoWorkspaces()
    bench.clock.set(new Date('2026-08-20T10:00Z'))
    const other = await months.database.connect()
    const key = 'hashtextextended($1, 0)'
    await other.query(`select pg_advisory_lock(${key})`, [MONTHS_LOCK])
    await expect(detach()).rejects.toMatchObject({ code: 'in_use' })
    await expect(recipients().erase(ASHA)).rejects.toMatchObject({
      code: 'rate_limit_exceeded',
    })
    expect(await erasuresRecorded()).toBe(0)
    await other.query(`select pg_advisory_unlock(${key})`, [MONTHS_LOCK])
    await detach()
  }, 120_000)

  it('follows the retention times of the service', async () => {
    const [one] = await months.twoWorkspaces()
    await months.owner.query(`update messages set recipient = $1 where created_at < '2026-06-01'`, [
      ASHA,
    ])
    bench.clock.set(new Date('2026-08-20T10:00Z'))
    await createRetention({ storage: bench.storage, runtime: bench.clock, days: 200 }).apply(going)
    await detach()
    await createRetention({ storage: bench.storage, runtime: bench.clock, days: 60 }).apply(going)
    expect(await tablesWith(ASHA)).toEqual([])
    await attach('first')
    await assertSound()
    const { rows } = await months.owner.query(
      `select count(*)::int as erased from messages where erased_at is not null and workspace_id = $1`,
      [one],
    )
    expect(rows).toEqual([{ erased: 8 }])

    await detach()
    bench.clock.set(new Date('2026-08-31T10:00Z'))
    const history = createHistoryRetention({
      storage: bench.storage,
      runtime: bench.clock,
      days: 60,
    })
    await history.apply(going)
    expect(await inspectDetached(months.database.url)).toEqual([])
    await assertSound()
    expect(await listed(one)).toHaveLength(16)
  }, 120_000)

  it('is not disturbed by a server that began to remove the month before', async () => {
    await months.twoWorkspaces()
    bench.clock.set(new Date('2026-10-20T10:00Z'))
    const remove = () =>
      createHistoryRetention({ storage: bench.storage, runtime: bench.clock, days: 108 }).apply(
        going,
      )
    const reader = await months.database.connect()
    await reader.query('begin')
    await reader.query('select from delivery_attempts')
    const removing = remove()
    const waits = `select from pg_locks where relation = 'delivery_attempts'::regclass and not granted`
    await expect
      .poll(async () => (await months.owner.query(waits)).rowCount, { interval: 20 })
      .toBe(1)
    await killedAt('months', (onStep) => detach({ onStep }))
    await reader.query('commit')
    await removing
    expect((await namesOf())[0]).toBe('first')
    await assertSound()
    await attach('first')
    await remove()
    expect((await namesOf())[0]).toBe('2026_07')
    await assertSound()
  }, 120_000)

  it('ends a detachment when a server removed the month meanwhile', async () => {
    const [one] = await fullMonths()
    await killedAt('check', (onStep) => detach({ onStep }), 2)
    // As a server that looked for the schema before it was made.
    await months.owner.query('alter schema svc_detached_first rename to hidden')
    await createHistoryRetention({
      storage: bench.storage,
      runtime: bench.clock,
      days: 45,
    }).apply(going)
    await months.owner.query('alter schema hidden rename to svc_detached_first')
    expect((await namesOf())[0]).toBe('2026_07')
    for (const dry_run of [true, false]) {
      await expect(detach({ dry_run })).rejects.toMatchObject({
        code: 'interrupted',
        message:
          'a server removed the old history of first while it was detached: run svc partitions attach first, which ends the detachment',
      })
    }
    await attach('first')
    expect(await inspectDetached(months.database.url)).toEqual([])
    expect(await listed(one)).toHaveLength(16)
    await assertSound()
  }, 120_000)

  it('goes on with retention where it was when a month comes back', async () => {
    await months.twoWorkspaces()
    bench.clock.set(new Date('2026-08-20T10:00Z'))
    const retain = (days: number) =>
      createRetention({ storage: bench.storage, runtime: bench.clock, days }).apply(going)
    await detach()
    // As a server of the release before, which does not know detached months.
    const { detachedMonths: _, ...older } = bench.storage
    await createRetention({ storage: older, runtime: bench.clock, days: 15 }).apply(going)
    await attach('first')
    await retain(15)
    // Events are walked through once; a second walk would find old messages.
    const { rows } = await months.owner.query(
      `select count(*)::int as kept from events where created_at < '2026-07-01' and body like '%"recipient":"+%'`,
    )
    expect(rows).toEqual([{ kept: 0 }])
  }, 120_000)

  it('goes on with retention in a month that was half moved when its marks passed it', async () => {
    await months.twoWorkspaces()
    bench.clock.set(new Date('2026-08-20T10:00Z'))
    await killedAt('rest', (onStep) => detach({ onStep }))
    const { detachedMonths: _, ...older } = bench.storage
    await createRetention({ storage: older, runtime: bench.clock, days: 15 }).apply(going)
    await detach()
    await createRetention({ storage: bench.storage, runtime: bench.clock, days: 15 }).apply(going)
    const { rows } = await months.owner.query(
      `select count(*)::int as kept from svc_detached_first.events where body like '%"recipient":"+%'`,
    )
    expect(rows).toEqual([{ kept: 0 }])
  }, 120_000)

  it('erases what comes back of a workspace without messages in the month', async () => {
    await months.twoWorkspaces()
    const three = await bench.workspace()
    for (const since of ['2026-05-01', '2026-07-01']) {
      await months.owner.query(
        `insert into events (workspace_id, id, event, body, created_at)
         select $1, overlay(id placing 'f' from length(id)), event,
           regexp_replace(body, '"recipient":"[^"]*"', '"recipient":"${ASHA}"'), created_at
         from events where body like '%"recipient"%' and created_at >= $2 order by id limit 1`,
        [three, since],
      )
    }
    const naming = async () =>
      (await months.owner.query('select from events where strpos(body, $1) > 0', [ASHA])).rowCount
    expect(await naming()).toBe(2)
    bench.clock.set(new Date('2026-08-20T10:00Z'))
    await detach()
    const { detachedMonths: _, ...older } = bench.storage
    await createRetention({ storage: older, runtime: bench.clock, days: 15 }).apply(going)
    expect(await naming()).toBe(0)
    await attach('first')
    expect(await naming()).toBe(1)
    await createRetention({ storage: bench.storage, runtime: bench.clock, days: 15 }).apply(going)
    expect(await naming()).toBe(0)
  }, 120_000)

  it('fails no send meanwhile', async () => {
    const [one] = await fullMonths()
    let isMoving = true
    let sent = 0
    const sending = (async () => {
      while (isMoving) {
        await bench.queued(one)
        sent += 1
        await new Promise((resolve) => setImmediate(resolve))
      }
    })()
    sending.catch(() => {})
    for (let i = 0; i < 3; i++) {
      await detach()
      await attach('first')
    }
    isMoving = false
    await sending
    expect(sent).toBeGreaterThan(10)
    expect(await listed(one)).toHaveLength(24 + sent)
    await send()
    await assertSound()
  }, 120_000)
})
