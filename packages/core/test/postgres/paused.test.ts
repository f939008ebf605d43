import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { connect } from '../../src/storage/postgres/engine/connection.ts'
import { type Database, databaseOn, statement } from '../../src/storage/postgres/engine/database.ts'
import { openPostgres } from '../../src/storage/postgres/postgres.ts'
import { testRuntime } from '../fixtures.ts'
import { type PostgresServer, startPostgres } from '../postgres-server.ts'
import { only } from '../storage/bench.ts'
import { serverBench } from './bench.ts'
import { timed } from './timed.ts'

/** How long the database may take; all that the service does is bounded by it. */
const ANSWER_MAX_MS = 1_000

/** The line, the work, and what a busy machine adds. */
const BOUND_MS = 1.5 * ANSWER_MAX_MS + 1_000

const runtime = testRuntime('paused')
let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server?.stop())
afterEach(() => server.resume())

const bench = serverBench(() => server.url, { answer_max_ms: ANSWER_MAX_MS })

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

describe('a database that stands still', () => {
  it('is answered for in bounded time, and nothing is lost or paid twice', async () => {
    const id = await bench.workspace(10_000)
    const sent: { message: string; outcome: string; ms: number }[] = []
    let going = true
    const call = async () => {
      while (going) {
        const request = bench.make.send(id)
        const measured = await timed(async () => {
          expect(await bench.accept(request)).toEqual({ outcome: 'accepted' })
        })
        sent.push({ message: only(request.messages).id, ...measured })
      }
    }
    const callers = Array.from({ length: 100 }, call)
    await pause(300)
    await server.pause()
    await pause(100)
    // The callers so far may all be in the batch that the database has: these wait behind it.
    callers.push(...Array.from({ length: 100 }, call))
    await pause(2_900)
    const before = sent.length
    await server.resume()
    await expect.poll(() => sent.slice(before).some(({ outcome }) => outcome === 'done')).toBe(true)
    going = false
    await Promise.all(callers)

    expect(Math.max(...sent.map(({ ms }) => ms))).toBeLessThan(BOUND_MS)
    const outcomes = new Set(sent.map(({ outcome }) => outcome))
    expect(outcomes).toContain('rate_limit_exceeded')
    for (const outcome of outcomes) {
      expect(['done', 'rate_limit_exceeded', 'not_done', 'commit_unknown']).toContain(outcome)
    }
    const page = { limit: 1_000_000, offset: 0 }
    const stored = new Set(
      (await bench.storage.read.messages.list(id, {}, page)).map((message) => message.id),
    )
    const sentAs = (outcome: string) => sent.filter((each) => each.outcome === outcome)
    expect(sentAs('done').filter(({ message }) => !stored.has(message))).toEqual([])
    for (const refusal of ['rate_limit_exceeded', 'not_done']) {
      expect(sentAs(refusal).filter(({ message }) => stored.has(message))).toEqual([])
    }
    expect((await bench.account(id)).seq).toBe(stored.size + 1)
  })

  it('delays no read, write, dispatch or health check beyond its limit', async () => {
    const id = await bench.workspace()
    const message = await bench.queued(id)
    await server.pause()
    const { storage } = bench
    const results = await Promise.all([
      ...Array.from({ length: 50 }, () => timed(() => bench.account(id))),
      ...Array.from({ length: 50 }, () =>
        timed(() => storage.write(({ credits }) => credits.open(id, runtime.now()))),
      ),
      ...Array.from({ length: 3 }, () => timed(() => bench.claimMessages())),
      timed(() => bench.claimDeliveries()),
      timed(() => bench.callback(message, 'sent')),
      timed(() => storage.hot.findApiKey('no such key')),
      timed(() => storage.alone?.('a task', async () => 'done') ?? Promise.resolve()),
      timed(() => storage.ping()),
    ])
    expect(Math.max(...results.map(({ ms }) => ms))).toBeLessThan(BOUND_MS)
    expect(results.filter(({ outcome }) => outcome === 'done')).toEqual([])
    await server.resume()
    await storage.ping()
    expect(await bench.account(id)).toMatchObject({ seq: 2 })
  })

  it('does not prevent closing', async () => {
    await bench.storage.ping()
    const storage = await openPostgres(server.url, runtime, { answer_max_ms: ANSWER_MAX_MS })
    storage.hot.onWake?.(() => {})
    await Promise.all([storage.ping(), storage.hot.findApiKey('no such key')])
    await server.pause()
    const queries = Array.from({ length: 20 }, () => timed(() => storage.read.credits.account('x')))
    const { outcome, ms } = await timed(() => storage.close())
    expect(outcome).toBe('done')
    expect(ms).toBeLessThan(2 * BOUND_MS)
    await Promise.all(queries)
  })

  it('does not delay a server that starts', async () => {
    await server.pause()
    const { outcome, ms } = await timed(() =>
      openPostgres(server.url, runtime, { answer_max_ms: ANSWER_MAX_MS }),
    )
    expect(outcome).not.toBe('done')
    expect(ms).toBeLessThan(BOUND_MS)
  })
})

describe('a transaction that the database does not end', () => {
  const LONGER_MS = 2 * ANSWER_MAX_MS
  const sleep = statement<unknown>('sleep', 'select pg_sleep($1)')
  const note = statement<unknown>('note', 'insert into notes values ($1)')
  let connections: Awaited<ReturnType<typeof connect>>
  let database: Database
  beforeEach(async () => {
    connections = await connect(server.url, { log: runtime.log, answer_max_ms: LONGER_MS })
    database = databaseOn(connections.hot, { random: runtime.random, answer_max_ms: LONGER_MS })
    await connections.slow.query('create table if not exists notes (id text)')
    await connections.slow.query('truncate notes')
  })
  afterEach(() => connections.end())

  const notes = async () => (await connections.slow.query('select id from notes')).rows

  /** Notes something after so many seconds; the commit is on its way when the database stands still. */
  async function lateCommit(seconds: number) {
    let tries = 0
    const measured = await timed(() =>
      database.transact(async (tx) => {
        tries += 1
        await tx.rows(sleep, seconds)
        await tx.rows(note, 'late')
        await server.pause()
      }),
    )
    return { ...measured, tries }
  }

  it('ends at its deadline, is not retried, and is not committed when the database continues', async () => {
    const measured = await lateCommit(0)
    expect(measured).toMatchObject({ outcome: 'commit_unknown', tries: 1 })
    await server.resume()
    await pause(500)
    expect(await notes()).toEqual([])
    await database.transact((tx) => tx.rows(note, 'next'))
    expect(await notes()).toEqual([{ id: 'next' }])
  })

  it('has the time for all its statements together', async () => {
    const { outcome, ms } = await lateCommit((0.7 * LONGER_MS) / 1_000)
    expect(outcome).toBe('commit_unknown')
    expect(ms).toBeLessThan(1.5 * LONGER_MS)
  })

  it('is not tried again when the database is killed under its commit', async () => {
    const killed = (async () => {
      await pause(ANSWER_MAX_MS)
      await server.kill()
      await server.start()
    })()
    expect(await lateCommit(0)).toMatchObject({ outcome: 'commit_unknown', tries: 1 })
    await killed
    expect(await notes()).toEqual([])
  })
})
