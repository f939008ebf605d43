import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { inspectDatabase } from '../../src/maintenance/inspect/inspect.ts'
import { systemRuntime } from '../../src/runtime/runtime.ts'
import { migrationsOf } from '../../src/storage/migrations.ts'
import { openPostgres } from '../../src/storage/postgres/postgres.ts'
import { builders } from '../fixtures.ts'
import { createEmptyDatabase, type TestDatabase } from '../postgres-database.ts'
import { sendOnThreeDays } from '../storage/three-days.ts'

const runtime = systemRuntime()

let database: TestDatabase
beforeEach(async () => {
  database = await createEmptyDatabase()
})
afterEach(() => database?.drop())

async function applied(): Promise<unknown[]> {
  const owner = await database.connect()
  return (await owner.query('select * from svc_migrations order by hash')).rows
}

async function openAndClose(url = database.url): Promise<void> {
  const storage = await openPostgres(url, runtime)
  await storage.ping()
  await storage.close()
}

describe('migrating', () => {
  it('is done once by servers that open a new database at the same moment', async () => {
    await Promise.all(Array.from({ length: 5 }, () => openAndClose()))
    expect(await applied()).toHaveLength(migrationsOf('postgres').length)
  })

  it('changes nothing the second time, and needs no right to create tables then', async () => {
    await openAndClose()
    const before = await applied()
    const owner = await database.connect()
    const role = `svc_test_role_${process.pid}`
    await owner.query(`create role ${role} login password 'a password'`)
    try {
      await owner.query(
        `grant select, insert, update, delete on all tables in schema public to ${role}`,
      )
      await openAndClose(database.url.replace(/\/\/\w+(:[^@]*)?@/, `//${role}:a%20password@`))
    } finally {
      await owner.query(`drop owned by ${role}`)
      await owner.query(`drop role ${role}`)
    }
    expect(await applied()).toEqual(before)
  })

  it('refuses a database of a newer version and leaves it as it is', async () => {
    await openAndClose()
    const owner = await database.connect()
    await owner.query("insert into svc_migrations values ('of the future', 0)")
    const before = await applied()
    await expect(openAndClose()).rejects.toThrow(
      'the database was made by a newer version of svc; install that version, or restore an older backup',
    )
    expect(await applied()).toEqual(before)
    await owner.query("delete from svc_migrations where hash = 'of the future'")
    await openAndClose()
  })

  it('counts the messages that were there before they were counted', async () => {
    const make = builders(runtime)
    const storage = await openPostgres(database.url, runtime)
    const row = make.workspace()
    await storage.write(async ({ workspaces, credits }) => {
      await workspaces.insert(row)
      await credits.open(row.id, runtime.now())
    })
    await sendOnThreeDays(storage, row.id)
    await storage.close()
    const owner = await database.connect()
    const counted = async () => {
      const { rows } = await owner.query(
        `select workspace_id, unit, date_trunc('minute', since) as since, channel, status, sum(count) as count, sum(test_count) as test_count
         from message_counts group by 1, 2, 3, 4, 5 having sum(count) <> 0 order by 1, 2, 3, 4, 5`,
      )
      return rows
    }
    const before = await counted()
    // In each unit the kinds of the three messages.
    expect(before).toHaveLength(3 + 3 + 3)
    await owner.query('drop table message_counts')
    const fill = migrationsOf('postgres').flatMap(({ sql }) =>
      sql.filter((statement) => statement.includes('message_counts')),
    )
    expect(fill).toHaveLength(18)
    for (const statement of fill) await owner.query(statement)
    expect(await counted()).toEqual(before)
    expect((await inspectDatabase(database.url)).faults.counts_differ).toBe(0)
  })

  it('leaves nothing behind when it fails half-way', async () => {
    const owner = await database.connect()
    // The last of the tables is in the way.
    await owner.query('create table workspaces (id text)')
    await expect(openAndClose()).rejects.toThrow('relation "workspaces" already exists')
    const { rows } = await owner.query(
      "select tablename from pg_tables where schemaname = 'public'",
    )
    expect(rows).toEqual([{ tablename: 'workspaces' }])
    await owner.query('drop table workspaces')
    await openAndClose()
  })
})
