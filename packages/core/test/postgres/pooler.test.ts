import { PassThrough } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import type pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { exportArchive } from '../../src/maintenance/archive/export-archive.ts'
import { migrationStatus } from '../../src/maintenance/archive/open.ts'
import { verifyLedger } from '../../src/maintenance/ledger/verify-ledger.ts'
import { alone, connect } from '../../src/storage/postgres/engine/connection.ts'
import { eachAlone, transact } from '../../src/storage/postgres/engine/transaction.ts'
import { openPostgres } from '../../src/storage/postgres/postgres.ts'
import { testRuntime } from '../fixtures.ts'
import { createDatabase, type TestDatabase } from '../postgres-database.ts'
import {
  hasPgpool,
  hasPooler,
  type Pooler,
  readUrl,
  startPgpool,
  startPooler,
} from '../postgres-pooler.ts'
import { startPostgres } from '../postgres-server.ts'
import { benchFor, only } from '../storage/bench.ts'
import { patient } from './bench.ts'
import { timed } from './timed.ts'

let database: TestDatabase
const ends: (() => Promise<unknown>)[] = []
beforeEach(async () => {
  database = await createDatabase()
})
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
  await database.drop()
})

const runtime = testRuntime('pooler')
const { log } = runtime

async function pooler(
  pool_mode: 'transaction' | 'session' = 'transaction',
  settings: Record<string, string | number> = {},
): Promise<Pooler> {
  const started = await startPooler(database.url, pool_mode, settings)
  ends.push(started.stop)
  return started
}

async function connected(url: string, direct_url?: string) {
  const connections = await connect(url, { log, direct_url })
  ends.push(connections.end)
  return connections
}

it('a direct connection has sessions, however often it is opened', async () => {
  for (let i = 0; i < 3; i++) {
    const { cold, connect: listen } = await connected(database.url)
    expect(cold.begin).toBeUndefined()
    expect(listen).not.toBeNull()
  }
})

// PgBouncer is a Debian package, which `.ci/debian-peers` installs; a machine without it skips these tests.
describe.skipIf(!hasPooler)('behind PgBouncer', () => {
  it.each([
    ['one session', { default_pool_size: 1 }],
    ['several sessions', {}],
    ['several sessions, in turn', { server_round_robin: 1 }],
  ])('a pool of transactions with %s is found, also when it is warm', async (_, settings) => {
    const { url } = await pooler('transaction', settings)
    for (let i = 0; i < 3; i++) {
      const { hot, cold, slow, connect: listen, end } = await connect(url, { log })
      for (const each of [hot, cold, slow]) expect(each.begin).toBeDefined()
      expect(listen).toBeNull()
      await end()
    }
  })

  it('a pool of sessions has sessions', async () => {
    const { url } = await pooler('session')
    for (let i = 0; i < 3; i++) {
      const { cold, end } = await connect(url, { log })
      expect(cold.begin).toBeUndefined()
      await end()
    }
  })

  it('a direct URL is for what needs a session, and must lead to the same database', async () => {
    const { url } = await pooler()
    const { hot, lone, slow, connect: listen } = await connected(url, database.url)
    expect([hot.begin, lone.begin, slow.begin]).toEqual([expect.anything(), undefined, undefined])
    expect(listen).not.toBeNull()
    await expect(connect(url, { log, direct_url: url })).rejects.toThrow(
      /database_direct_url leads through a pooler/,
    )
    const other = await createDatabase()
    ends.push(other.drop)
    await expect(connect(url, { log, direct_url: other.url })).rejects.toThrow(
      /database_direct_url must lead to the database of database_url/,
    )
  })

  it('a server that does not report its timeline is used', async () => {
    const owner = await database.connect()
    await owner.query('create role pooled_app login')
    ends.push(() => owner.query('drop role pooled_app'))
    await owner.query('revoke execute on function pg_walfile_name(pg_lsn) from public')
    const url = new URL(database.url)
    url.username = 'pooled_app'
    const { url: pooled, stop } = await startPooler(url.href, 'transaction')
    ends.push(stop)
    const { hot, cold } = await connected(pooled.replace(/@([^/]*)/, '@$1,$1'))
    for (const pool of [hot, cold]) {
      expect(pool.begin).toBeDefined()
      const run = (text: string) => transact(pool, eachAlone, (run) => run(text))
      expect((await run('select current_user as name')).rows).toEqual([{ name: 'pooled_app' }])
    }
  })

  it('a move is refused without a session, because its lock would not hold', async () => {
    const { url } = await pooler()
    expect((await migrationStatus(url)).pending).toEqual([])
    const move = exportArchive({ database_url: url, to: new PassThrough(), made_by: 'test' })
    await expect(move).rejects.toThrow(/name PostgreSQL itself, with --database/)
  })

  it('each transaction has its settings, whatever other clients left in the sessions', async () => {
    const { url } = await pooler('transaction', { default_pool_size: 1 })
    const { hot, cold } = await connected(url)
    const names = ['synchronous_commit', 'transaction_isolation', 'timezone', 'lock_timeout']
    const settingsIn = async (run: (text: string) => Promise<pg.QueryResult>) =>
      (await run(`select ${names.map((name) => `current_setting('${name}') as ${name}`)}`)).rows[0]
    await cold.query(`set synchronous_commit = off`)
    await cold.query(`set default_transaction_isolation = serializable`)
    await cold.query(`set timezone = 'Asia/Tokyo'`)
    const left = await settingsIn((text) => cold.query(text))
    expect(left).toMatchObject({ synchronous_commit: 'off', transaction_isolation: 'serializable' })
    for (const pool of [hot, cold]) {
      const inside = await transact(
        pool,
        (client) => ({
          send: (text: string) => client.query(text),
          command: (text) => void client.query(text),
          succeeded: async () => {},
          ended: async () => {},
          lastSkipped: () => false,
        }),
        settingsIn,
      )
      expect(inside).toEqual({
        synchronous_commit: 'on',
        transaction_isolation: 'read committed',
        timezone: 'UTC',
        lock_timeout: '3500ms',
      })
    }
    expect(await settingsIn((text) => cold.query(text))).toEqual(left)
  })

  it('a server that does not flush is refused', async () => {
    const server = await startPostgres({ settings: { fsync: 'off' } })
    ends.push(server.stop)
    const before = await startPooler(server.url, 'transaction')
    ends.push(before.stop)
    await expect(connect(before.url, { log })).rejects.toThrow(/not possible with fsync=off/)
  })

  it.each([
    ['a transaction', false],
    ['a session', true],
  ])('work that one server does alone holds the lock of %s', async (_, is_direct) => {
    const { url } = await pooler()
    const direct = is_direct ? database.url : undefined
    const [one, other] = [await connected(url, direct), await connected(url, direct)]
    const inside = await alone(one.lone, 'sweep', async () => [
      await alone(other.lone, 'sweep', async () => 'both'),
      await alone(other.lone, 'else', async () => 'else'),
    ])
    expect(inside).toEqual([null, 'else'])
    expect(await alone(other.lone, 'sweep', async () => 'after')).toBe('after')
  })
})

// As above: PgBouncer may not be installed.
describe.skipIf(!hasPooler)('a service behind PgBouncer with 3 sessions for 16 connections', () => {
  let between: Pooler
  const bench = benchFor(
    async () => {
      between = await pooler('transaction', { default_pool_size: 3 })
      const storage = await openPostgres(between.url, testRuntime('storage'))
      ends.push(() => storage.close())
      return { storage, reopen: async () => storage, close: async () => {} }
    },
    { elapsed: () => performance.now() },
  )

  it('accepts, claims and settles under load', () => sendAll(bench))

  it('loses nothing that was answered when the pooler is killed, and goes on', async () => {
    const id = await bench.workspace(100_000)
    const sent: { message: string; outcome: string }[] = []
    let going = true
    const callers = Array.from({ length: 32 }, async () => {
      while (going) {
        const request = bench.make.send(id)
        const { outcome } = await timed(async () => {
          expect(await bench.accept(request)).toEqual({ outcome: 'accepted' })
        })
        sent.push({ message: only(request.messages).id, outcome })
      }
    })
    for (let round = 0; round < 3; round++) {
      const before = sent.length
      const doneSince = () => sent.slice(before).filter(({ outcome }) => outcome === 'done').length
      await expect.poll(doneSince, patient).toBeGreaterThan(100)
      await between.kill()
      await pause(200)
      await between.start()
    }
    const before = sent.length
    await expect
      .poll(() => sent.slice(before).filter(({ outcome }) => outcome === 'done').length, patient)
      .toBeGreaterThan(100)
    going = false
    await Promise.all(callers)

    const page = { limit: 1_000_000, offset: 0 }
    const messages = await bench.storage.read.messages.list(id, {}, page)
    const stored = new Set(messages.map((message) => message.id))
    const endedWith = (outcome: string) => sent.filter((each) => each.outcome === outcome)
    expect(endedWith('done').filter(({ message }) => !stored.has(message))).toEqual([])
    expect(endedWith('not_done').filter(({ message }) => stored.has(message))).toEqual([])
    const paid = (await bench.ledger(id)).filter(({ kind }) => kind === 'send')
    expect(paid.map(({ ref_id }) => ref_id).sort()).toEqual([...stored].sort())
    const report = await verifyLedger(between.url, {})
    expect(report.differences).toEqual([])
  })
})

// Pgpool-II is a Debian package, which `.ci/debian-peers` installs; a machine without it skips these tests.
describe.skipIf(!hasPgpool)('behind Pgpool-II, which forgets prepared statements', () => {
  const pgpool = async (settings: Parameters<typeof startPgpool>[1] = {}) => {
    const started = await startPgpool(database.url, { load_balance_mode: 'off', ...settings })
    ends.push(started.stop)
    return started
  }
  const bench = benchFor(
    async () => {
      const storage = await openPostgres((await pgpool()).url, testRuntime('storage'))
      ends.push(() => storage.close())
      return { storage, reopen: async () => storage, close: async () => {} }
    },
    { elapsed: () => performance.now() },
  )

  it('nothing relies on a session', async () => {
    const { url } = await pgpool()
    const { hot, cold, slow, connect: listen } = await connected(url)
    for (const each of [hot, cold, slow]) expect(each.begin).toBeDefined()
    expect(listen).toBeNull()
    await expect(connect(database.url, { log, direct_url: url })).rejects.toThrow(
      /database_direct_url leads through a pooler/,
    )
  })

  it.each(['off', 'on'])('reads at standbys are refused: statement level %s', async (level) => {
    const { host, at } = readUrl(database.url)
    const { url } = await pgpool({
      load_balance_mode: 'on',
      statement_level_load_balance: level,
      // A second server: with one alone, nothing is balanced.
      ...{ backend_hostname1: `'${host}'`, backend_port1: at, backend_weight1: 1 },
      ...{ backend_weight0: 1, backend_flag1: `'DISALLOW_TO_FAILOVER'` },
    })
    await expect(connect(url, { log })).rejects.toThrow(/set load_balance_mode = off$/)
  })

  it('accepts, claims and settles under load', () => sendAll(bench))
})

async function sendAll(bench: ReturnType<typeof benchFor>): Promise<void> {
  const id = await bench.workspace(1_000)
  const answers = await Promise.all(
    Array.from({ length: 300 }, () => bench.accept(bench.make.send(id))),
  )
  expect(new Set(answers.map(({ outcome }) => outcome))).toEqual(new Set(['accepted']))
  const outcome = { type: 'accepted', provider_message_id: null, lookup_after_ms: null } as const
  let settled = 0
  for (
    let some = await bench.claimMessages();
    some.length > 0;
    some = await bench.claimMessages()
  ) {
    const done = await Promise.all(
      some.map((held) => bench.settle(held, { task: 'send', attempt: 1, outcome })),
    )
    settled += done.filter(Boolean).length
  }
  expect(settled).toBe(300)
}
