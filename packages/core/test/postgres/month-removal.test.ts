import { describe, expect, it } from 'vitest'
import { createRecipientIndex } from '../../src/messages/index-recipients.ts'
import { createHistoryRetention } from '../../src/retention/history.ts'
import { idFloor } from '../../src/runtime/runtime.ts'
import { openPostgres } from '../../src/storage/postgres/postgres.ts'
import { testRuntime } from '../fixtures.ts'
import { monthsBench } from './months.ts'

const months = monthsBench()
const { bench, send, deliver, listed, namesOf, assertSound, twoWorkspaces } = months

const removal = (days: number) =>
  createHistoryRetention({ storage: bench.storage, runtime: bench.clock, days })

/** Refuses every removal of a single message. */
async function refuseSingleRemovals(): Promise<void> {
  await months.owner.query(`create function refuse() returns trigger language plpgsql as
    $$ begin raise exception 'a single row was removed'; end $$`)
  for (const table of ['messages', 'events', 'message_attempts']) {
    await months.owner.query(
      `create trigger refuse before delete on ${table} for each row execute function refuse()`,
    )
  }
}

async function remaining(): Promise<string[]> {
  const { rows } = await months.owner.query<{ name: string }>(
    `select relname as name from pg_class where relname like 'removed\\_%' and relkind = 'r' and relname <> 'removed_history'`,
  )
  return rows.map(({ name }) => name)
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
    const { rows } = await months.owner.query(
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
      months.database.url,
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
      await months.owner.query(text)
      reasons.length = 0
      const which = { until: at, at: bench.clock.now(), isStopping: () => false }
      expect(await storage.removeMonths?.({ ...which, quiet_since: at })).toBe(true)
      expect((await namesOf())[0]).toBe('first')
      await months.owner.query(undo)
      return reasons.filter((reason) => reason !== undefined)
    }
    const update = (what: string) => `update messages set ${what} where id = '${first}'`
    await months.owner.query('create table saved_bulks as select * from bulks')
    await months.owner.query(
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
    await months.owner.query(`create function stop_here() returns trigger language plpgsql as
      $$ begin raise exception 'killed'; end $$`)
    await months.owner.query(
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
    await months.owner.query('drop trigger stop_here on message_counts')
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
    const reader = await months.database.connect()
    await reader.query('begin')
    await reader.query('select from delivery_attempts')
    const removing = removal(60).apply(() => false)
    const waits = `select from pg_locks where relation = 'delivery_attempts'::regclass and not granted`
    await expect
      .poll(async () => (await months.owner.query(waits)).rowCount, { interval: 20 })
      .toBe(1)
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
    const reader = await months.database.connect()
    await reader.query('begin')
    await reader.query('select from delivery_attempts')
    const removing = removal(60).apply(() => false)
    const waits = `select from pg_locks where relation = 'delivery_attempts'::regclass and not granted`
    await expect
      .poll(async () => (await months.owner.query(waits)).rowCount, { interval: 20 })
      .toBe(1)
    // As an import for a new workspace writes it.
    await months.owner.query(
      `create temp table imported as select * from messages where workspace_id = $1 order by id limit 1`,
      [one],
    )
    await months.owner.query(`update imported set workspace_id = 'imported'`)
    await months.owner.query('insert into messages select * from imported')
    await reader.query('commit')
    await removing
    expect((await namesOf()).slice(0, 2)).toEqual(['first', '2026_08'])
    expect(await listed('imported')).toHaveLength(1)
  }, 120_000)

  it('waits for a retry of an old delivery that an owner requests, and does not strand one that comes later', async () => {
    const [one] = await twoWorkspaces()
    // As an event of the last moment of June, whose delivery has an id of July.
    const { rows: found } = await months.owner.query(
      `update deliveries d set event_id = (select min(id) from events where workspace_id = $1), status = 'failed'
       where id = (select min(id) from deliveries where id >= $2) returning id, webhook_id, message_id`,
      [one, idFloor(new Date('2026-07-01Z'))],
    )
    const [{ id, webhook_id }] = found
    // The month is old enough, and its rows are not old enough to be removed one by one.
    bench.clock.set(new Date('2026-08-20Z'))
    const retry = (until: Promise<void>) =>
      bench.storage.write(async ({ webhooks }) => {
        await webhooks.lock(one, webhook_id)
        const at = bench.clock.now()
        const changed = await webhooks.requeue(one, webhook_id, [id], { at, tries: 1 })
        await until
        return changed
      })
    const queued = async () =>
      (await months.owner.query('select from delivery_queue where delivery_id = $1', [id])).rowCount
    let commit = () => {}
    const retrying = retry(
      new Promise((resolve) => {
        commit = resolve
      }),
    )
    const removing = removal(45).apply(() => false)
    // The retry has read `events`, which comes before `deliveries` in the order of the locks.
    const waits = `select from pg_locks where relation = 'events'::regclass and not granted`
    await expect
      .poll(async () => (await months.owner.query(waits)).rowCount, {
        interval: 20,
        timeout: 20_000,
      })
      .toBe(1)
      .finally(() => commit())
    expect(await retrying).toBe(1)
    await removing
    expect(await namesOf()).toContain('first')
    expect(await queued()).toBe(1)
    await deliver()
    expect(await queued()).toBe(0)

    // A retry after it, of a delivery that was read before it.
    await months.owner.query(`update deliveries set status = 'failed' where id = $1`, [id])
    await removal(45).apply(() => false)
    bench.clock.set(new Date('2026-08-20T02:00Z'))
    await removal(45).apply(() => false)
    expect((await namesOf())[0]).toBe('2026_07')
    expect(await retry(Promise.resolve())).toBe(0)
    expect(await queued()).toBe(0)
    await assertSound()
  }, 120_000)
})
