import pg from 'pg'
import { afterAll, beforeAll, expect } from 'vitest'
import type { Storage } from '../../src/storage/ports/storage.ts'
import { openPostgres, type PostgresOptions } from '../../src/storage/postgres/postgres.ts'
import { testRuntime } from '../fixtures.ts'
import { createDatabase, databaseUrl, type TestDatabase } from '../postgres-database.ts'
import { benchFor } from '../storage/bench.ts'

/** A machine may be busy with other tests. */
export const patient = { interval: 5, timeout: 10_000 }

/** The bench of the storage's suite on a PostgreSQL database, whose clock counts as it does in production. */
export function postgresBench() {
  let database: TestDatabase
  beforeAll(async () => {
    database = await createDatabase()
  })
  afterAll(() => database?.drop())

  const open = () => openPostgres(database.url, testRuntime('storage'))
  const elapsed = () => performance.now()
  const bench = benchFor(
    async () => {
      await database.clear()
      let storage = await open()
      return {
        storage,
        async reopen() {
          await storage.close()
          storage = await open()
          return storage
        },
        close: () => storage.close(),
      }
    },
    { elapsed },
  )
  return Object.assign(bench, {
    url: () => database.url,
    /** A connection beside the storage's own. */
    connect: (): Promise<pg.Client> => database.connect(),
    /** Another server on the same database; the test closes it. */
    another: (seed: string): Promise<Storage> => openPostgres(database.url, testRuntime(seed)),
    /** Resolves when this number of sessions of this database wait for a lock. */
    async untilSessionWaits(sessions = 1): Promise<void> {
      const owner = await database.connect()
      const waiting =
        "select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
      await expect
        .poll(async () => (await owner.query(waiting)).rows[0].n, patient)
        .toBeGreaterThanOrEqual(sessions)
      await owner.end()
    },
    /** The ledger explains the balance, and every message was paid for once. */
    async expectSound(workspaceId: string): Promise<void> {
      const ledger = await bench.ledger(workspaceId)
      let balance = 0
      for (const [i, entry] of ledger.entries()) {
        balance += entry.amount
        expect(entry).toMatchObject({ seq: i + 1, balance_after: balance })
      }
      expect(await bench.account(workspaceId)).toMatchObject({ balance, seq: ledger.length })
      const paid = ledger.filter(({ kind }) => kind === 'send').map(({ ref_id }) => ref_id)
      const page = { limit: 1_000_000, offset: 0 }
      const messages = await bench.storage.read.messages.list(workspaceId, {}, page)
      expect(paid.sort()).toEqual(messages.map(({ id }) => id).sort())
    },
  })
}

/**
 * The bench on a server of the test's own, to be stopped and killed: each test has a database of its own there. `used`: the URL
 * that the storage uses, if it differs.
 */
export function serverBench(url: () => string, options: PostgresOptions = {}, used = url) {
  let databases = 0
  return benchFor(
    async () => {
      const name = `test_${databases++}`
      const owner = new pg.Client({ connectionString: url() })
      await owner.connect()
      await owner.query(`create database ${name}`)
      await owner.end()
      const open = () => openPostgres(databaseUrl(used(), name), testRuntime('storage'), options)
      let storage = await open()
      return {
        storage,
        async reopen() {
          await storage.close()
          storage = await open()
          return storage
        },
        close: () => storage.close(),
      }
    },
    options.clock === 'caller' ? {} : { elapsed: () => performance.now() },
  )
}
