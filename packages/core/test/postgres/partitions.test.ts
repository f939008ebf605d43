import type pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startSweeper } from '../../src/dispatch/dispatcher.ts'
import { inspectDatabase } from '../../src/maintenance/inspect/inspect.ts'
import { verifyLedger } from '../../src/maintenance/ledger/verify-ledger.ts'
import {
  addPartitions,
  enablePartitions,
  inspectPartitions,
} from '../../src/maintenance/partitions/partitions.ts'
import { createHistoryRetention } from '../../src/retention/history.ts'
import type { MessageRow } from '../../src/rows/rows.ts'
import { idFloor } from '../../src/runtime/runtime.ts'
import { migrationsOf } from '../../src/storage/migrations.ts'
import type { Storage } from '../../src/storage/ports/storage.ts'
import { type Connections, connect } from '../../src/storage/postgres/engine/connection.ts'
import { applyMigrations, migrate } from '../../src/storage/postgres/engine/migrate.ts'
import type { PartitionStep } from '../../src/storage/postgres/engine/partitions/change.ts'
import { enablePartitions as partition } from '../../src/storage/postgres/engine/partitions/enable.ts'
import { PARTITIONED } from '../../src/storage/postgres/engine/partitions/state.ts'
import { openPostgres } from '../../src/storage/postgres/postgres.ts'
import { testRuntime } from '../fixtures.ts'
import { createDatabase, createEmptyDatabase, type TestDatabase } from '../postgres-database.ts'
import { benchFor, EVERYTHING, only } from '../storage/bench.ts'

const ACCEPTED = { type: 'accepted', provider_message_id: 'P1', lookup_after_ms: null } as const

let database: TestDatabase
let owner: pg.Client
beforeEach(async () => {
  database = await createDatabase()
  owner = await database.connect()
})
afterEach(() => database?.drop())

// Its clock begins on 2026-05-04.
const bench = benchFor(async () => {
  const storage = await openPostgres(database.url, testRuntime('partitions'), { clock: 'caller' })
  return {
    storage,
    reopen: () => Promise.reject(new Error('not used')),
    close: () => storage.close(),
  }
})

const options = () => ({ now: bench.clock.now(), ahead: 3 })

/** The names of the partitions of each history, without the name of the history. */
async function names(): Promise<string[][]> {
  const states = await inspectPartitions(database.url)
  return states.map(({ table, partitions }) =>
    partitions.map(({ name }) => name.replace(`${table}_`, '')),
  )
}

const ENABLED = Array.from({ length: 6 }, () => ['first', '2026_07', '2026_08', 'default'])

/** Which partition each message is in, in the order of ids. */
async function places(): Promise<string[]> {
  const { rows } = await owner.query<{ place: string }>(
    'select tableoid::regclass::text as place from messages order by id',
  )
  return rows.map(({ place }) => place)
}

/** Sends all that is due. */
async function send(): Promise<number> {
  const claimed = await bench.claimMessages()
  for (const each of claimed) {
    expect(await bench.settle(each, { task: 'send', attempt: 1, outcome: ACCEPTED })).toBe(true)
  }
  return claimed.length
}

async function assertSound(): Promise<void> {
  expect((await inspectDatabase(database.url)).faults).toMatchObject({
    messages_gone: 0,
    deliveries_gone: 0,
    counts_differ: 0,
  })
  expect(await verifyLedger(database.url)).toMatchObject({ ok: true })
}

describe('enabling', () => {
  it('copies no row, and leaves a server its prepared statements', async () => {
    const workspaceId = await bench.workspace()
    const before = await bench.queued(workspaceId)
    const node = async (name: string) =>
      only((await owner.query(`select pg_relation_filenode('${name}') as node`)).rows).node
    const file = await node('messages')
    await enablePartitions(database.url, options())
    expect(await node('messages_first')).toBe(file)
    expect(await names()).toEqual(ENABLED)
    expect(await bench.message(workspaceId, before.id)).toEqual(before)
    expect(await send()).toBe(1)
    bench.clock.set(new Date('2026-07-02Z'))
    const after = await bench.queued(workspaceId)
    expect(await send()).toBe(1)
    expect(await places()).toEqual(['messages_first', 'messages_2026_07'])
    const listed = await bench.storage.read.messages.list(workspaceId, {}, EVERYTHING)
    expect(listed.map(({ id }) => id)).toEqual([after.id, before.id])
    const states = await inspectPartitions(database.url)
    expect(states.map(({ bound, default_rows }) => [bound, default_rows])).toEqual(
      states.map(() => [null, 0]),
    )
    await assertSound()
  })

  it('goes on beside servers that accept, send and list', async () => {
    const workspaceId = await bench.workspace(10_000)
    await bench.webhook(workspaceId)
    let isDone = false
    const accepted: string[] = []
    let sent = 0
    const until = async (work: () => Promise<unknown>) => {
      while (!isDone) await work()
    }
    const load = [
      ...[1, 2, 3].map(() =>
        until(async () => accepted.push((await bench.queued(workspaceId)).id)),
      ),
      until(async () => {
        sent += await send()
      }),
      until(() => bench.storage.read.messages.list(workspaceId, {}, { limit: 10, offset: 0 })),
    ]
    await enablePartitions(database.url, options()).finally(() => {
      isDone = true
    })
    await Promise.all(load)
    sent += await send()
    expect(await names()).toEqual(ENABLED)
    expect(sent).toBe(accepted.length)
    const { rows } = await owner.query("select id from messages where status = 'sent' order by id")
    expect(rows.map(({ id }) => id)).toEqual(accepted.sort())
    await assertSound()
  }, 60_000)

  it('goes on after each step at which it was interrupted, and sends work in between', async () => {
    const workspaceId = await bench.workspace()
    const seen: string[] = []
    for (let isDone = false; !isDone; ) {
      let steps = 0
      const onStep = ({ table, step }: PartitionStep) => {
        steps += 1
        if (steps === 2) throw new Error('interrupted')
        seen.push(`${table} ${step}`)
      }
      isDone = await enablePartitions(database.url, { ...options(), onStep }).then(
        () => true,
        (error: Error) => {
          expect(error.message).toBe('interrupted')
          return false
        },
      )
      await bench.queued(workspaceId)
      expect(await send()).toBe(1)
    }
    expect(seen.filter((step) => step.endsWith('attach'))).toHaveLength(6)
    expect(new Set(seen).size).toBe(seen.length)
    expect(await names()).toEqual(ENABLED)
    await assertSound()
  }, 60_000)

  it('is continued after its session was ended while it reads the rows', async () => {
    await bench.queued(await bench.workspace())
    const onStep = ({ step }: PartitionStep) => {
      if (step === 'validate') throw new Error('interrupted')
    }
    await expect(enablePartitions(database.url, { ...options(), onStep })).rejects.toThrow()
    const reader = await database.connect()
    await reader.query('begin')
    // As an index that is made just now.
    await reader.query('lock table messages in share update exclusive mode')
    const killed = enablePartitions(database.url, options()).catch((error: Error) => error)
    const waiting = `select pid from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%validate%'`
    await expect.poll(async () => (await owner.query(waiting)).rows.length).toBe(1)
    await owner.query(`select pg_terminate_backend(pid) from (${waiting}) w`)
    expect(await killed).toBeInstanceOf(Error)
    await reader.query('commit')
    expect((await inspectPartitions(database.url))[0]).toMatchObject({
      is_partitioned: false,
      bound: { holder: 'messages', until: new Date('2026-07-01Z'), is_valid: false },
    })
    await enablePartitions(database.url, options())
    expect(await names()).toEqual(ENABLED)
  })

  it('waits for a table in use in short tries, so that others can use it meanwhile', async () => {
    const workspaceId = await bench.workspace()
    const reader = await database.connect()
    await reader.query('begin')
    await reader.query('select from message_events')
    const enabling = enablePartitions(database.url, options())
    const waits = `select from pg_locks where relation = to_regclass('message_events') and not granted`
    await expect.poll(async () => (await owner.query(waits)).rowCount).toBe(1)
    await bench.queued(workspaceId)
    expect(await send()).toBe(1)
    await reader.query('commit')
    await enabling
    expect(await names()).toEqual(ENABLED)
  }, 30_000)

  it('refuses rows of the future, and leaves the table as it was', async () => {
    const workspaceId = await bench.workspace()
    bench.clock.set(new Date('2027-05-04Z'))
    const { id } = await bench.queued(workspaceId)
    const early = { ...options(), now: new Date('2026-05-04Z') }
    await expect(enablePartitions(database.url, early)).rejects.toThrow(
      'messages has rows of 2026-07-01T00:00:00.000Z or later: a clock was wrong when they were written',
    )
    expect((await inspectPartitions(database.url))[0]).toMatchObject({ bound: null })
    expect(await bench.message(workspaceId, id)).toMatchObject({ id })
  })

  it('keeps the rights of other roles', async () => {
    const role = `svc_test_role_${process.pid}`
    await owner.query(`create role ${role}`)
    try {
      await owner.query(`grant select, insert on messages to ${role}`)
      await enablePartitions(database.url, options())
      const { rows } = await owner.query(
        `select has_table_privilege($1, 'messages', 'insert') as may, has_table_privilege($1, 'messages', 'delete') as may_not`,
        [role],
      )
      expect(rows).toEqual([{ may: true, may_not: false }])
    } finally {
      await owner.query(`drop owned by ${role}`)
      await owner.query(`drop role ${role}`)
    }
  })

  it('needs PostgreSQL, and a database of this version', async () => {
    const refused = { code: 'sqlite', message: expect.stringContaining('SVC_HISTORY_DAYS') }
    await expect(enablePartitions('file:none.db', options())).rejects.toMatchObject(refused)
    await expect(inspectPartitions('file:none.db')).rejects.toMatchObject(refused)
    const empty = await createEmptyDatabase()
    try {
      await expect(enablePartitions(empty.url, options())).rejects.toMatchObject({ code: 'behind' })
    } finally {
      await empty.drop()
    }
    await expect(addPartitions(database.url, options())).rejects.toMatchObject({
      code: 'not_partitioned',
    })
  })
})

describe('the months ahead', () => {
  it('are added by the sweeper, once', async () => {
    await enablePartitions(database.url, options())
    const sweeper = startSweeper({ storage: bench.storage, runtime: bench.clock })
    await sweeper.sweep()
    expect(await names()).toEqual(ENABLED)
    bench.clock.set(new Date('2026-06-30T23:59:59Z'))
    await sweeper.sweep()
    bench.clock.set(new Date('2026-07-01Z'))
    await sweeper.sweep()
    await sweeper.stop()
    const months = ['2026_07', '2026_08', '2026_09', '2026_10']
    expect(await names()).toEqual(ENABLED.map(() => ['first', ...months, 'default']))
  })

  it('are not added before the histories are partitioned, nor by a role that does not own them', async () => {
    const keep = (storage: Storage) => storage.keepPartitions?.(6, bench.clock.now())
    expect(await keep(bench.storage)).toEqual([])
    expect(await names()).toEqual(ENABLED.map(() => []))
    await enablePartitions(database.url, options())
    const role = `svc_test_role_${process.pid}`
    await owner.query(`create role ${role} login password 'a password'`)
    try {
      await owner.query(
        `grant select, insert, update, delete on all tables in schema public to ${role}`,
      )
      const url = database.url.replace(/\/\/\w+(:[^@]*)?@/, `//${role}:a%20password@`)
      const other = await openPostgres(url, testRuntime('other'))
      expect(await keep(other)).toEqual([])
      await other.close()
    } finally {
      await owner.query(`drop owned by ${role}`)
      await owner.query(`drop role ${role}`)
    }
    expect(await names()).toEqual(ENABLED)
    expect(await keep(bench.storage)).toHaveLength(6 * 3)
  })

  it('that are missing let no send fail: their rows wait in the default partition', async () => {
    const workspaceId = await bench.workspace()
    await bench.webhook(workspaceId)
    await enablePartitions(database.url, options())
    bench.clock.set(new Date('2026-12-10Z'))
    const first = await bench.queued(workspaceId)
    expect(await send()).toBe(1)
    expect(await places()).toEqual(['messages_default'])
    const [before] = await inspectPartitions(database.url)
    expect(before).toMatchObject({ default_rows: 1 })
    const added = await addPartitions(database.url, options())
    expect(added.filter((name) => /^messages_\d/.test(name))).toEqual([
      'messages_2026_09',
      'messages_2027_02',
      'messages_2027_03',
    ])
    expect(await places()).toEqual(['messages_2026_09'])
    for (const all of await names()) expect(all.at(-1)).toBe('default')
    const [after] = await inspectPartitions(database.url)
    expect(after).toMatchObject({ default_rows: 0, bound: null })
    expect(after?.partitions.find(({ name }) => name === 'messages_2026_09')).toMatchObject({
      from: new Date('2026-09-01Z'),
      until: new Date('2027-02-01Z'),
    })
    expect(await bench.callback(first, 'delivered')).toBe(true)
    await bench.queued(workspaceId)
    expect(await send()).toBe(1)
    expect(await addPartitions(database.url, options())).toEqual([])
    await assertSound()
  })

  it('are added to tables that were partitioned by hand, with a default partition', async () => {
    await enablePartitions(database.url, options())
    for (const name of ['messages', 'events']) await owner.query(`drop table ${name}_default`)
    bench.clock.set(new Date('2026-06-02Z'))
    expect(await bench.storage.keepPartitions?.(3, bench.clock.now())).toContain('events_2026_09')
    const months = ['2026_07', '2026_08', '2026_09']
    expect(await names()).toEqual(ENABLED.map(() => ['first', ...months, 'default']))
  })

  it('are dropped when the removal of old history has emptied them', async () => {
    const workspaceId = await bench.workspace()
    await bench.webhook(workspaceId)
    await enablePartitions(database.url, options())
    const months = []
    for (const day of ['2026-05-04', '2026-07-02', '2026-08-02']) {
      bench.clock.set(new Date(`${day}T09:00:00Z`))
      const isOpen = day === '2026-07-02'
      const scheduled_at = isOpen ? new Date('2026-12-01Z') : null
      months.push(await bench.queued(workspaceId, { scheduled_at }))
      if (!isOpen) {
        expect(await send()).toBe(1)
        expect(await bench.callback(months.at(-1) as MessageRow, 'delivered')).toBe(true)
      }
      for (const each of await bench.claimDeliveries()) expect(await bench.record(each)).toBe(true)
    }
    bench.clock.set(new Date('2026-08-20T09:00:00Z'))
    const remove = () =>
      createHistoryRetention({
        storage: bench.storage,
        runtime: bench.clock,
        days: 30,
      }).apply(() => false)
    await remove()
    expect((await names())[0]).toEqual(['2026_07', '2026_08', 'default'])
    // Of June there is nothing, and July is not older than 30 days.
    expect(await places()).toHaveLength(2)
    await assertSound()
    bench.clock.set(new Date('2026-10-20T09:00:00Z'))
    await bench.storage.keepPartitions?.(1, bench.clock.now())
    await remove()
    // The message of July is not sent yet.
    // September is empty and older than 30 days only in part.
    const months_left = ['2026_09', '2026_10', '2026_11']
    expect((await names())[0]).toEqual(['2026_07', ...months_left, 'default'])
    expect(await places()).toEqual(['messages_2026_07'])
    await assertSound()
    bench.clock.set(new Date('2026-12-01T09:00:00Z'))
    expect(await send()).toBe(1)
    // Its attempt has an id of July, and its partition is still there.
    const attempts = await owner.query(
      'select tableoid::regclass::text as place from message_attempts',
    )
    expect(attempts.rows).toEqual([{ place: 'message_attempts_2026_07' }])
    expect((await addPartitions(database.url, options())).length).toBeGreaterThan(0)
  }, 60_000)

  it('are made again for rows of dropped months, beside rows of months that are missing', async () => {
    const workspaceId = await bench.workspace()
    await enablePartitions(database.url, options())
    bench.clock.set(new Date('2026-08-20Z'))
    await bench.storage.dropPartitions?.(new Date('2026-08-01Z'))
    expect((await names())[0]).toEqual(['2026_08', 'default'])
    // As an import writes them.
    const ids = ['2026-05-04', '2026-07-31', '2026-12-01'].map((day) => idFloor(new Date(day)))
    for (const id of ids) {
      await owner.query(
        `insert into events (workspace_id, id, event, body, created_at) values ($1, $2, 'credits.low', '{}', now())`,
        [workspaceId, id],
      )
    }
    bench.clock.set(new Date('2026-12-10Z'))
    const added = await bench.storage.keepPartitions?.(1, bench.clock.now())
    expect(added?.filter((name) => name.startsWith('events'))).toEqual([
      'events_first',
      'events_2026_09',
    ])
    const { rows } = await owner.query(
      'select tableoid::regclass::text as place from events order by id',
    )
    expect(rows.map(({ place }) => place)).toEqual([
      ...['events_first', 'events_first', 'events_2026_09'],
    ])
    expect((await inspectPartitions(database.url)).map((table) => table.default_rows)).toEqual(
      Array(6).fill(0),
    )
    expect(await bench.storage.keepPartitions?.(1, bench.clock.now())).toEqual([])
  })

  it('are not dropped with a row that is written meanwhile', async () => {
    await enablePartitions(database.url, options())
    const writer = await database.connect()
    await writer.query('begin')
    await writer.query(
      `insert into events (workspace_id, id, event, body, created_at)
       values ('w', '019a0000-0000-7000-8000-000000000000', 'credits.low', '{}', now())`,
    )
    const dropping = bench.storage.dropPartitions?.(new Date('2026-07-01Z'))
    const waits = `select from pg_locks where relation = 'events'::regclass and not granted`
    await expect.poll(async () => (await owner.query(waits)).rowCount).toBe(1)
    await writer.query('commit')
    expect(await dropping).not.toContain('events_first')
    expect((await owner.query('select from events_first')).rowCount).toBe(1)
    expect((await names())[0]).toEqual(['2026_07', '2026_08', 'default'])
  })

  it('a bound that an interrupted change left is removed before it refuses a row', async () => {
    const workspaceId = await bench.workspace()
    const onStep = ({ step }: PartitionStep) => {
      if (step === 'attach') throw new Error('interrupted')
    }
    await expect(enablePartitions(database.url, { ...options(), onStep })).rejects.toThrow()
    const bound = async () => (await inspectPartitions(database.url))[0]?.bound ?? null
    await bench.storage.keepPartitions?.(3, bench.clock.now())
    expect(await bound()).toMatchObject({ holder: 'messages', is_valid: true })
    bench.clock.set(new Date('2026-06-25Z'))
    await bench.storage.keepPartitions?.(3, bench.clock.now())
    expect(await bound()).toBeNull()
    bench.clock.set(new Date('2026-07-02Z'))
    await bench.queued(workspaceId)
    await enablePartitions(database.url, options())
    expect(await places()).toEqual(['messages_first'])
  })
})

describe('migrations of partitioned tables', () => {
  const ALL = migrationsOf('postgres')
  const line = () => {}
  const log = { debug: line, info: line, warn: line, error: line }

  /** Runs with the connections of a program, on a database that has the first steps. */
  async function atSteps<T>(
    count: number,
    work: (pools: Connections, run: pg.Client) => Promise<T>,
  ) {
    const older = await createEmptyDatabase()
    const client = await older.connect()
    try {
      await applyMigrations((query, values) => client.query(query as string, values), count)
      const connections = await connect(older.url, { log })
      try {
        return await work(connections, client)
      } finally {
        await connections.end()
      }
    } finally {
      await older.drop()
    }
  }

  /** The indexes of each table and partition, without names, and whether they are valid. */
  async function indexesIn(client: pg.Client): Promise<Record<string, string[]>> {
    const { rows } = await client.query<{ name: string; indexes: string[] }>(
      `select c.relname as name, array_agg(substring(pg_get_indexdef(i.indexrelid) from ' USING .*') || ' ' || i.indisvalid order by 1) as indexes
       from pg_index i join pg_class c on c.oid = i.indrelid
       where c.relname ~ $1 group by c.relname`,
      [`^(${Object.keys(PARTITIONED).join('|')})(_first|_default|_\\d+_\\d+)?$`],
    )
    return Object.fromEntries(rows.map(({ name, indexes }) => [name, indexes.sort()]))
  }

  it.each([14, 30, 46])(
    'from step %s on give each partition the indexes of the table, made while servers write',
    async (count) => {
      const plain = await indexesIn(owner)
      await atSteps(count, async ({ slow, cold }, client) => {
        await partition(slow, options())
        const lines: string[] = []
        const told = { ...log, info: (_: object, text: string) => void lines.push(text) }
        await migrate(slow, cold, { log: told, online_from_rows: 0 })
        const indexes = await indexesIn(client)
        expect(Object.keys(indexes).length).toBeGreaterThan(4 * 5)
        for (const [name, some] of Object.entries(indexes)) {
          expect(some, name).toEqual(plain[name.replace(/_(first|default|\d+_\d+)$/, '')])
        }
        expect(lines).toContain(
          'makes the index messages_first_canceled of messages_first, about 0 rows',
        )
        const { rows } = await client.query(
          'select from svc_migrations where indexes_missing is not null',
        )
        expect(rows).toEqual([])
      })
    },
    60_000,
  )

  it('that were interrupted between two partitions go on', async () => {
    const step = ALL.find(({ name }) => name === '0046_canceled')
    const number = step?.sql.findIndex((text) => text.includes('"messages_canceled"')) ?? -1
    const definition = step?.sql[number] ?? ''
    await atSteps(ALL.length, async ({ slow, cold }, client) => {
      await partition(slow, options())
      const before = await indexesIn(client)
      await client.query('drop index messages_canceled')
      await client.query(definition.replace('ON "messages"', 'ON ONLY "messages"'))
      const on = (part: string) =>
        client.query(
          definition.replace('ON "messages"', `ON ${part}`).replace('"messages_', `"${part}_`),
        )
      await on('messages_2026_07')
      await on('messages_2026_08')
      await client.query(
        `update pg_index set indisvalid = false where indexrelid = 'messages_2026_08_canceled'::regclass`,
      )
      await client.query(
        `update svc_migrations set indexes_missing = $1 where name = '0046_canceled'`,
        [JSON.stringify([number])],
      )
      await migrate(slow, cold, { log })
      expect(await indexesIn(client)).toEqual(before)
    })
  }, 60_000)
})
