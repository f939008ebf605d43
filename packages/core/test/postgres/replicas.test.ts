import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { inspectReplicas } from '../../src/maintenance/inspect/inspect.ts'
import type { Storage } from '../../src/storage/ports/storage.ts'
import { openPostgres, type PostgresOptions } from '../../src/storage/postgres/postgres.ts'
import { testRuntime } from '../fixtures.ts'
import { connectTo } from '../postgres-client.ts'
import { databaseUrl } from '../postgres-database.ts'
import { hasPooler, startPooler } from '../postgres-pooler.ts'
import { type PostgresServer, startPostgres } from '../postgres-server.ts'
import { benchFor, only } from '../storage/bench.ts'
import { patient } from './bench.ts'

/** Long for a replica that replays, and short for a test that waits for one that does not. */
const MAX_LAG_MS = 1_000
const PAGE = { limit: 1_000_000, offset: 0, content_length: 0 }
const slow = { ...patient, timeout: 20_000 }

let primary: PostgresServer
let standby: PostgresServer
/** Only for the test of a failover. */
let other: PostgresServer

beforeAll(async () => {
  primary = await startPostgres()
  standby = await startPostgres({ primary })
  other = await startPostgres({ primary })
}, 60_000)
afterAll(async () => {
  for (const each of [standby, other, primary]) await each?.stop()
})

const ends: (() => Promise<unknown>)[] = []
let databases = 0
let name = ''
beforeEach(async () => {
  name = `test_${databases++}`
  await at(primary.url, `create database ${name}`)
})
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function at(url: string, statement: string) {
  const client = await connectTo(url)
  try {
    return (await client.query(statement)).rows
  } finally {
    await client.end()
  }
}

const urlOf = (server: PostgresServer) => databaseUrl(server.url, name)

/** Holds the standby back until it is resumed, or the test ends. */
async function holdBack(): Promise<() => Promise<unknown>> {
  const resume = () => at(standby.url, 'select pg_wal_replay_resume()')
  ends.push(resume)
  await at(standby.url, 'select pg_wal_replay_pause()')
  // The pause begins with the next record.
  await at(primary.url, "select pg_logical_emit_message(true, '', '')")
  const state = () => at(standby.url, 'select pg_get_wal_replay_pause_state() as state')
  await expect.poll(state, patient).toEqual([{ state: 'paused' }])
  return resume
}

type Line = { level: string; text: string }

/** A server whose replica is the standby. */
async function open(options: PostgresOptions = {}, url = urlOf(primary)) {
  const lines: Line[] = []
  const note = (level: string) => (facts: { replica?: unknown }, text: string) => {
    if (facts.replica !== undefined) lines.push({ level, text })
  }
  const runtime = testRuntime(`server ${ends.length}`)
  const log = { ...runtime.log, info: note('info'), warn: note('warn') } as typeof runtime.log
  const storage = await openPostgres(
    url,
    { ...runtime, log },
    { replica_urls: [urlOf(standby)], replica_max_lag_ms: MAX_LAG_MS, ...options },
  )
  ends.push(() => storage.close())
  const state = () => only(storage.replicas?.() ?? [])
  return {
    storage,
    lines,
    state,
    untilUsed: (is_used = true) => expect.poll(() => state().is_used, slow).toBe(is_used),
  }
}

let server: Awaited<ReturnType<typeof open>>
const bench = benchFor(
  async () => {
    server = await open()
    await server.untilUsed()
    return {
      storage: server.storage,
      reopen: async () => server.storage,
      close: async () => {},
    }
  },
  { elapsed: () => performance.now() },
)

const idsOf = async ({ storage }: { storage: Storage }, workspaceId: string) =>
  (await storage.read.messages.listShort(workspaceId, {}, PAGE)).map(({ id }) => id)

it('the replica answers what is only shown, and nothing that decides', async () => {
  const id = await bench.workspace()
  const message = await bench.queued(id)
  const { read } = server.storage
  const before = server.state().answers
  await read.credits.account(id)
  await read.messages.byId(id, message.id)
  await read.messages.queuedOf(id, 'sms', PAGE)
  await read.suppressions.of(id, [])
  await read.apiKeys.testUsage(id)
  await read.eventLog.state()
  expect(server.state().answers).toBe(before)
  expect(await idsOf(server, id)).toEqual([message.id])
  await read.messages.attempts(id, message.id)
  await read.overview.creditTotals()
  expect(server.state().answers).toBeGreaterThanOrEqual(before + 3)
})

it('every server sees at once what another one has accepted', async () => {
  const second = await open()
  await second.untilUsed()
  const id = await bench.workspace(1_000)
  for (let n = 1; n <= 50; n++) {
    const { id: message } = await bench.queued(id)
    expect((await idsOf(second, id))[0]).toBe(message)
    expect((await idsOf(server, id)).length).toBe(n)
  }
  // A replica that is late on a busy machine is replaced by the primary.
  expect(second.state().answers).toBeGreaterThan(0)
}, 60_000)

it('a replica that is held back answers nothing that it has not seen, and is used again when it has caught up', async () => {
  const second = await open()
  await second.untilUsed()
  const id = await bench.workspace()
  const first = await bench.queued(id)
  const resume = await holdBack()
  const { answers } = second.state()
  const message = await bench.queued(id)
  const [own, others] = await Promise.all([idsOf(server, id), idsOf(second, id)])
  expect(own).toEqual([message.id, first.id])
  expect(others).toEqual(own)
  expect(second.state().answers).toBe(answers)
  await second.untilUsed(false)
  expect(second.state().reason).toBe('it is behind')
  // A lag is that of the oldest change that is missing, so it grows.
  await expect.poll(() => second.state().lag_ms, slow).toBeGreaterThan(2 * MAX_LAG_MS)
  await resume()
  await second.untilUsed()
  expect(second.state().lag_ms).toBeLessThanOrEqual(MAX_LAG_MS)
  expect(await idsOf(second, id)).toEqual(own)
  expect(second.state().answers).toBeGreaterThan(answers)
}, 60_000)

it.each([
  ['is killed', () => standby.kill(), () => standby.start()],
  ['stands still', () => standby.pause(), () => standby.resume()],
])(
  'a replica that %s is no error, and one line says so',
  async (_, end, begin) => {
    const id = await bench.workspace()
    const { id: message } = await bench.queued(id)
    expect(await idsOf(server, id)).toEqual([message])
    const from = server.lines.length
    let has_begun = false
    ends.push(async () => has_begun || begin())
    await end()
    const lists = await Promise.all(Array.from({ length: 20 }, () => idsOf(server, id)))
    expect(new Set(lists.flat())).toEqual(new Set([message]))
    await server.untilUsed(false)
    expect(server.state().lag_ms).toBe(null)
    expect(server.state().reason).not.toBe(null)
    has_begun = true
    await begin()
    await server.untilUsed()
    const { answers } = server.state()
    expect(await idsOf(server, id)).toEqual([message])
    expect(server.state().answers).toBeGreaterThan(answers)
    expect(server.lines.slice(from)).toEqual([
      { level: 'warn', text: 'a read replica was lost: reads go to the primary' },
      { level: 'info', text: 'a read replica is used' },
    ])
  },
  90_000,
)

it('starts without its replica, and without a right to see the stream', async () => {
  await at(primary.url, 'drop role if exists reader')
  await at(primary.url, 'create role reader login in role pg_read_all_data')
  ends.push(() => at(primary.url, 'drop role reader'))
  const url = urlOf(standby).replace('svc@', 'reader@')
  const gone = 'postgres://svc@127.0.0.1:1/svc'
  const { storage } = await open({ replica_urls: [gone, url] })
  const states = () => (storage.replicas?.() ?? []).map(({ is_used }) => is_used)
  await expect.poll(states, slow).toEqual([false, true])
  const id = await bench.workspace()
  const { id: message } = await bench.queued(id)
  expect(await idsOf({ storage }, id)).toEqual([message])
  const options = { urls: [gone, url], max_lag_ms: 10 * MAX_LAG_MS }
  expect(await inspectReplicas(urlOf(primary), options)).toMatchObject([
    {
      name: '127.0.0.1:1',
      is_used: false,
      lag_ms: null,
      reason: expect.stringMatching(/ECONNREFUSED/),
    },
    { is_used: true, lag_ms: expect.any(Number), reason: null },
  ])
  expect(storage.replicas?.()[1]?.answers).toBeGreaterThan(0)
}, 60_000)

it('never reads another database, nor one that takes writes itself', async () => {
  for (const [url, reason] of [
    [standby.url, 'it does not follow the primary'],
    [urlOf(primary), 'it is no standby'],
  ] as const) {
    const wrong = await open({ replica_urls: [url] })
    await expect.poll(() => wrong.state().reason, slow).toBe(reason)
    expect(wrong.lines).toEqual([{ level: 'warn', text: 'a read replica cannot be used' }])
    const states = await inspectReplicas(urlOf(primary), { urls: [url], max_lag_ms: MAX_LAG_MS })
    expect(states).toEqual([wrong.state()])
    expect(wrong.state().is_used).toBe(false)
  }
}, 60_000)

it('keeps the values of rows and passwords out of errors', async () => {
  const replica_urls = ['postgres://svc:hunter2@127.0.0.1:1/svc']
  const { state } = await open({ replica_urls })
  await expect.poll(() => state().reason, slow).toMatch(/ECONNREFUSED/)
  expect(JSON.stringify(state())).not.toContain('hunter2')
  expect(state().name).toBe('127.0.0.1:1')
  await expect(open({ replica_urls: ['postgres://svc:hunter2@a:b/svc'] })).rejects.toThrow(
    /^database_replica_urls is not a valid postgres:\/\/ address$/,
  )
})

// PgBouncer is a Debian package, which `.ci/debian-peers` installs; a machine without it skips this test.
describe.skipIf(!hasPooler)('behind PgBouncer', () => {
  it('a replica answers through a pooler of transactions', async () => {
    const pooler = await startPooler(urlOf(standby), 'transaction', { default_pool_size: 2 })
    ends.push(pooler.stop)
    const pooled = await open({ replica_urls: [pooler.url] })
    await pooled.untilUsed()
    const id = await bench.workspace()
    const { id: message } = await bench.queued(id)
    const lists = await Promise.all(Array.from({ length: 20 }, () => idsOf(pooled, id)))
    expect(new Set(lists.flat())).toEqual(new Set([message]))
    expect(pooled.state().answers).toBeGreaterThanOrEqual(20)
  }, 60_000)

  it('of several replicas behind one address, only those that have caught up answer', async () => {
    const folders = `${standby.folder},${other.folder}`
    const to = `${urlOf(standby)}?host=${folders}`
    const pooler = await startPooler(to, 'transaction', { server_round_robin: 1 })
    ends.push(pooler.stop)
    const pooled = await open({ replica_urls: [pooler.url] })
    await pooled.untilUsed()
    const id = await bench.workspace()
    await Promise.all(Array.from({ length: 20 }, () => idsOf(pooled, id)))
    await holdBack()
    const { id: message } = await bench.queued(id)
    for (let n = 0; n < 10; n++) {
      const lists = await Promise.all(Array.from({ length: 8 }, () => idsOf(pooled, id)))
      expect(lists).toEqual(Array.from(lists, () => [message]))
    }
  }, 60_000)
})

// The last test: it ends the primary.
it('after a failover, no replica answers from a history that the primary does not have', async () => {
  const both = urlOf(primary).replace('@', `@${encodeURIComponent(standby.folder)},`)
  const failing = await open({ replica_urls: [urlOf(standby), urlOf(other)] }, both)
  const used = () => (failing.storage.replicas?.() ?? []).map(({ is_used }) => is_used)
  await expect.poll(used, slow).toEqual([true, true])
  const id = await bench.workspace(10_000)
  const { id: kept } = await bench.queued(id)
  const untilReplayed = async ({ url }: PostgresServer) => {
    await at(primary.url, "select pg_logical_emit_message(true, '', '')")
    const [flushed] = await at(primary.url, 'select pg_current_wal_flush_lsn()::text as lsn')
    const compared = `select pg_last_wal_replay_lsn() >= '${flushed.lsn}' as has_reached`
    await expect.poll(() => at(url, compared), patient).toEqual([{ has_reached: true }])
  }
  await untilReplayed(standby)
  await standby.shutDown()
  // Only the other standby gets these: the failover loses them.
  for (let n = 0; n < 200; n++) await bench.queued(id)
  await untilReplayed(other)
  await primary.kill()
  await standby.start()
  await at(standby.url, 'select pg_promote(true, 30)')
  const list = () => idsOf(failing, id).catch(() => null)
  await expect.poll(list, slow).toEqual([kept])
  const request = bench.make.send(id)
  expect(await failing.storage.hot.accept([request])).toMatchObject([{ outcome: 'accepted' }])
  const expected = [only(request.messages).id, kept]
  await expect.poll(used, slow).toEqual([false, false])
  for (let n = 0; n < 20; n++) expect((await idsOf(failing, id)).sort()).toEqual(expected.sort())
}, 120_000)
