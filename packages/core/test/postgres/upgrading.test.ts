import type pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { planMigrations } from '../../src/maintenance/archive/migration-plan.ts'
import { migrateDatabase, migrationStatus } from '../../src/maintenance/archive/open.ts'
import { systemRuntime } from '../../src/runtime/runtime.ts'
import { migrationsOf } from '../../src/storage/migrations.ts'
import type { Storage } from '../../src/storage/ports/storage.ts'
import { connect } from '../../src/storage/postgres/engine/connection.ts'
import {
  applyMigrations,
  type MigrateOptions,
  migrate,
} from '../../src/storage/postgres/engine/migrate.ts'
import { openPostgres } from '../../src/storage/postgres/postgres.ts'
import { builders } from '../fixtures.ts'
import { createEmptyDatabase, type TestDatabase } from '../postgres-database.ts'

const runtime = systemRuntime()
const ALL = migrationsOf('postgres')
/** The step that counts canceled messages makes an index of messages, and older servers do not survive it. */
const BEFORE_CANCELED = ALL.findIndex(({ name }) => name === '0046_canceled')
/** The next step only adds two columns. */
const BEFORE_TEXTS = BEFORE_CANCELED + 1

let database: TestDatabase
let owner: pg.Client
let opened: Storage[]
beforeEach(async () => {
  database = await createEmptyDatabase()
  owner = await database.connect()
  opened = []
})
afterEach(async () => {
  for (const storage of opened) await storage.close()
  await database?.drop()
})

/** Brings the database to its first steps, as an older version did. */
async function atSteps(count: number): Promise<void> {
  await owner.query('begin')
  await applyMigrations((query, values) => owner.query(query as string, values), count)
  await owner.query('commit')
}

async function open(): Promise<Storage> {
  const storage = await openPostgres(database.url, runtime)
  opened.push(storage)
  return storage
}

/** A session as a server has it whose program knows `steps` steps; null as the first versions had it. */
async function sessionOf(steps: number | null): Promise<pg.Client> {
  const client = await database.connect()
  await client.query(`set application_name = 'svc${steps === null ? '' : `/${steps}`}'`)
  return client
}

/** Migrates and returns what an operator reads. */
async function migrating(
  options: MigrateOptions = {},
): Promise<{ ran: string[]; lines: string[] }> {
  const lines: string[] = []
  const line = (_: object, text: string) => void lines.push(text)
  const log = { debug: line, info: line, warn: line, error: line }
  const connections = await connect(database.url, { log })
  try {
    const ran = await migrate(connections.slow, connections.cold, { log, ...options })
    return { ran, lines }
  } finally {
    await connections.end()
  }
}

const isValid = async (name: string) => {
  const { rows } = await owner.query(
    'select indisvalid as is_valid from pg_index where indexrelid = to_regclass($1)',
    [name],
  )
  return rows[0]?.is_valid ?? null
}

describe('a database with a step of a newer version', () => {
  const later = (is_compatible: boolean) =>
    owner.query(
      `insert into svc_migrations (hash, applied_at, name, is_compatible) values ('later', 0, '9999_later', $1)`,
      [is_compatible],
    )
  beforeEach(() => atSteps(ALL.length))

  it('is used if older servers may run, also with the columns and tables of that step', async () => {
    await owner.query('alter table messages add column later text')
    await owner.query('alter table workspaces add column later integer default 7 not null')
    await owner.query('create table later (workspace_id text primary key)')
    await later(true)
    const storage = await open()
    const row = builders(runtime).workspace()
    await storage.write(({ workspaces }) => workspaces.insert(row))
    expect(await storage.read.workspaces.byId(row.id)).toMatchObject({ id: row.id })
    expect(await migrationStatus(database.url)).toMatchObject({
      pending: [],
      later: ['9999_later'],
      is_newer: false,
    })
  })

  it('is refused if they may not', async () => {
    await later(false)
    await expect(open()).rejects.toThrow('the database was made by a newer version of svc')
    expect(await migrationStatus(database.url)).toMatchObject({
      later: ['9999_later'],
      is_newer: true,
    })
  })
})

describe('a step that older servers do not survive', () => {
  it.each([
    ['of the first versions', null],
    ['of the version before', ALL.length - 1],
  ])('does not start while a server %s runs', async (_, steps) => {
    await atSteps(BEFORE_CANCELED)
    const older = await sessionOf(steps)
    const refused = expect(open()).rejects
    await refused.toMatchObject({ code: 'older_servers' })
    await expect(migrateDatabase(database.url)).rejects.toThrow(
      '0046_canceled (counts canceled messages apart from failed ones) needs that all servers of older versions are ' +
        'stopped: 1 of their sessions is connected. Stop them and try again, or do not wait for them: svc migrate --force',
    )
    expect((await migrationStatus(database.url)).applied).toHaveLength(BEFORE_CANCELED)
    expect(await planMigrations(database.url)).toMatchObject({
      needs_stop: true,
      older_sessions: 1,
    })
    await older.end()
    await open()
    expect((await migrationStatus(database.url)).pending).toEqual([])
  })

  it('starts beside servers of this version, which wait for it, and beside other programs', async () => {
    await atSteps(BEFORE_CANCELED)
    await sessionOf(ALL.length)
    await Promise.all([open(), open(), open()])
    expect((await migrationStatus(database.url)).pending).toEqual([])
  })

  it('starts beside older servers when it is forced to, and says so', async () => {
    await atSteps(BEFORE_CANCELED)
    await sessionOf(null)
    const { ran, lines } = await migrating({ force: true })
    expect(ran).toEqual(ALL.slice(BEFORE_CANCELED).map(({ name }) => name))
    expect(lines.some((line) => line.includes('it runs although 1 of their sessions'))).toBe(true)
  })

  it('is noted, so that an older program refuses the database', async () => {
    await atSteps(BEFORE_CANCELED)
    await open()
    const { rows } = await owner.query(
      `select name, is_compatible from svc_migrations where name in ('0046_canceled', '0047_marketing_texts') order by 1`,
    )
    expect(rows).toEqual([
      { name: '0046_canceled', is_compatible: false },
      { name: '0047_marketing_texts', is_compatible: true },
    ])
  })
})

it('steps that older servers survive run beside them', async () => {
  await atSteps(ALL.length)
  await owner.query(
    'alter table workspaces drop column postal_address, drop column sms_opt_out_text',
  )
  await owner.query(`delete from svc_migrations where name = '0047_marketing_texts'`)
  await sessionOf(null)
  expect(await planMigrations(database.url)).toMatchObject({ needs_stop: false })
  await open()
  expect((await migrationStatus(database.url)).pending).toEqual([])
})

it('a database of a version that did not note the kinds of steps is migrated', async () => {
  await atSteps(BEFORE_TEXTS)
  await owner.query(
    'alter table svc_migrations drop column name, drop column is_compatible, drop column indexes_missing',
  )
  await open()
  const { rows } = await owner.query(
    'select count(*)::int as steps, count(name)::int as named from svc_migrations',
  )
  expect(rows).toEqual([{ steps: ALL.length, named: ALL.length - BEFORE_TEXTS }])
})

describe('the index of a large table', () => {
  it('is made while another transaction writes to the table', async () => {
    await atSteps(BEFORE_CANCELED)
    const writer = await database.connect()
    await writer.query('begin')
    await writer.query('lock table messages in row exclusive mode')
    const migration = migrating({ online_from_rows: 0 })
    // A lock that blocks writes would wait for the writer, and so would each later statement.
    await expect
      .poll(async () => {
        const { rows } = await owner.query(
          `select mode from pg_locks where relation = 'messages'::regclass and mode = 'ShareUpdateExclusiveLock'`,
        )
        return rows.length
      })
      .toBe(1)
    await owner.query('begin')
    await owner.query(`set local lock_timeout = '1s'`)
    await owner.query('lock table messages in row exclusive mode')
    await owner.query('commit')
    await writer.query('commit')
    const { ran, lines } = await migration
    expect(ran).toContain('0046_canceled')
    expect(await isValid('messages_canceled')).toBe(true)
    expect(lines).toContain('makes the index messages_canceled of messages, about 0 rows')
    const { rows } = await owner.query(
      'select from svc_migrations where indexes_missing is not null',
    )
    expect(rows).toEqual([])
  })

  it('that a killed migration left incomplete is removed and made again', async () => {
    await atSteps(BEFORE_TEXTS)
    await owner.query(
      `update svc_migrations set indexes_missing = '[0]' where name = '0046_canceled'`,
    )
    await owner.query(
      `update pg_index set indisvalid = false where indexrelid = 'messages_canceled'::regclass`,
    )
    const { lines } = await migrating()
    expect(lines).toContain(
      'removes the index messages_canceled, which a stopped migration left incomplete',
    )
    expect(await isValid('messages_canceled')).toBe(true)
    await owner.query(
      `update svc_migrations set indexes_missing = '[0]' where name = '0046_canceled'`,
    )
    await owner.query('drop index messages_canceled')
    await open()
    expect(await isValid('messages_canceled')).toBe(true)
  })

  it('is continued after the session of the migration was ended', async () => {
    await atSteps(BEFORE_CANCELED)
    const writer = await database.connect()
    await writer.query('begin')
    await writer.query('lock table messages in row exclusive mode')
    const killed = migrating({ online_from_rows: 0 }).catch((error: Error) => error)
    const builders = `select pid from pg_stat_activity where datname = current_database() and query ilike 'create index concurrently%'`
    await expect.poll(async () => (await owner.query(builders)).rows.length).toBe(1)
    const ended = await owner.query(`select pg_terminate_backend(pid) from (${builders}) b`)
    expect(ended.rows).toHaveLength(1)
    expect(await killed).toBeInstanceOf(Error)
    expect(await isValid('messages_canceled')).toBe(false)
    await writer.query('commit')
    await migrating()
    expect(await isValid('messages_canceled')).toBe(true)
    expect((await migrationStatus(database.url)).pending).toEqual([])
  })
})

it('a step waits for a table in use in short tries, so that others can use it meanwhile', async () => {
  await atSteps(BEFORE_TEXTS)
  const reader = await database.connect()
  await reader.query('begin')
  await reader.query('select from workspaces')
  const opening = open()
  const waits = `select from pg_locks where relation = 'workspaces'::regclass and not granted`
  await expect.poll(async () => (await owner.query(waits)).rowCount).toBe(1)
  // The table is blocked for at most the length of a try.
  await owner.query('select from workspaces')
  expect((await migrationStatus(database.url)).applied).toHaveLength(BEFORE_TEXTS)
  await reader.query('commit')
  await opening
  expect((await migrationStatus(database.url)).pending).toEqual([])
}, 30_000)

it('a plan names the tables with rows, and what waits', async () => {
  await atSteps(BEFORE_CANCELED)
  await owner.query(
    `insert into message_counts (workspace_id, unit, since, channel, status, count, test_count)
     select 'w' || n, 'day', now(), 'sms', 'sent', 1, 0 from generate_series(1, 1000) n`,
  )
  await owner.query('analyze message_counts')
  const { pending } = await planMigrations(database.url)
  expect(pending.map(({ name }) => name)).toEqual(
    ALL.slice(BEFORE_CANCELED).map(({ name }) => name),
  )
  const work = {
    table: 'message_counts',
    rows: 1000,
    work: 'read',
    blocks: 'writes',
    estimate_s: 1,
  }
  expect(pending[0]).toMatchObject({
    older_servers: 'must_stop',
    tables: expect.arrayContaining([work]),
  })
})
