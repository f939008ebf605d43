import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Connections, connect } from '../../src/storage/postgres/engine/connection.ts'
import { openPostgres } from '../../src/storage/postgres/postgres.ts'
import { testRuntime } from '../fixtures.ts'
import { connectTo } from '../postgres-client.ts'
import { type PostgresServer, startPostgres } from '../postgres-server.ts'
import { only } from '../storage/bench.ts'
import { patient, serverBench } from './bench.ts'
import { timed } from './timed.ts'

/** How long a commit may wait for the standby. */
const ANSWER_MAX_MS = 3_000

let primary: PostgresServer
let standby: PostgresServer
beforeEach(async () => {
  primary = await startPostgres({ settings: { synchronous_standby_names: '*' } })
  standby = await startPostgres({ primary, settings: { synchronous_standby_names: '' } })
}, 60_000)
afterEach(async () => {
  await standby?.stop()
  await primary?.stop()
})

/** The URL of both servers, the standby first. */
const bothUrls = () => primary.url.replace('@', `@${encodeURIComponent(standby.folder)},`)

const bench = serverBench(() => primary.url, { answer_max_ms: ANSWER_MAX_MS }, bothUrls)

async function promote(): Promise<void> {
  const client = await connectTo(standby.url)
  await client.query('select pg_promote(true, 30)')
  await client.end()
}

/** Sends until it is stopped; returns the outcome of each send. */
function sendAlways(workspace_id: string, callers: number) {
  const sent: { message: string; outcome: string; ms: number }[] = []
  let going = true
  const ended = Promise.all(
    Array.from({ length: callers }, async () => {
      while (going) {
        const request = bench.make.send(workspace_id)
        const measured = await timed(async () => {
          expect(await bench.accept(request)).toEqual({ outcome: 'accepted' })
        })
        sent.push({ message: only(request.messages).id, ...measured })
      }
    }),
  )
  return {
    sent,
    done: (from = 0) => sent.slice(from).filter(({ outcome }) => outcome === 'done').length,
    async stop(): Promise<void> {
      going = false
      await ended
    },
  }
}

async function expectNothingLost(
  id: string,
  sent: readonly { message: string; outcome: string }[],
): Promise<void> {
  const list = () =>
    bench.storage.read.messages.list(id, {}, { limit: 1_000_000, offset: 0 }).catch(() => null)
  // Reads may still have connections to the server that stands still, each of which is used once.
  await expect.poll(list, { timeout: 30_000 }).not.toBe(null)
  const messages = (await list()) ?? []
  const stored = new Set(messages.map((message) => message.id))
  const endedWith = (outcome: string) => sent.filter((each) => each.outcome === outcome)
  expect(endedWith('done').filter(({ message }) => !stored.has(message))).toEqual([])
  expect(endedWith('not_done').filter(({ message }) => stored.has(message))).toEqual([])
  const ledger = await bench.ledger(id)
  const paid = ledger.filter(({ kind }) => kind === 'send').map(({ ref_id }) => ref_id)
  expect(paid.sort()).toEqual([...stored].sort())
}

describe('a primary with a synchronous standby', () => {
  it('accepts nothing that the standby does not have', async () => {
    const id = await bench.workspace(1_000_000)
    const { sent, done, stop } = sendAlways(id, 4)
    await expect.poll(done, patient).toBeGreaterThan(10)
    await standby.kill()
    const before = sent.length
    // The primary then reports success with a warning.
    const operator = await connectTo(primary.url)
    const cancel =
      "select pg_cancel_backend(pid) as canceled from pg_stat_activity where wait_event = 'SyncRep'"
    const canceled = async () => (await operator.query(cancel)).rows.length
    await expect.poll(canceled, patient).toBeGreaterThan(0)
    await expect
      .poll(() => sent.slice(before).some(({ outcome }) => outcome === 'commit_unknown'), patient)
      .toBe(true)
    await operator.end()
    const last = sent.length
    await primary.kill()
    await stop()
    // Those whose confirmation arrived before the standby was killed.
    expect(done(last)).toBe(0)
    await standby.start()
    await promote()
    await expect.poll(() => bench.storage.ping().then(() => true), patient).toBe(true)
    await expectNothingLost(
      id,
      sent.filter(({ outcome }) => outcome === 'done'),
    )
  }, 90_000)
})

it('listens at the server that takes writes, and refuses a URL of standbys only', async () => {
  const connections = await connect(bothUrls(), { log: testRuntime('failover').log })
  const client = await connections.connect?.()
  expect(await client?.query('select pg_is_in_recovery() as is_standby')).toMatchObject({
    rows: [{ is_standby: false }],
  })
  await client?.end()
  await connections.end()
  await primary.kill()
  await expect(openPostgres(bothUrls(), testRuntime('failover'))).rejects.toThrow(
    'cannot use the PostgreSQL database',
  )
}, 60_000)

/** Lends a connection for a moment; returns whether there was one. */
async function opens({ hot }: Pick<Connections, 'hot'>): Promise<boolean> {
  const client = await hot.connect().catch(() => null)
  client?.release()
  return client !== null
}

describe('a primary that was replaced, and does not know it', () => {
  it.each([
    ['one URL', false],
    ['a direct URL', true],
  ])(
    'is never gone back to, and its connections are cut, with %s',
    async (_, isDirect) => {
      const options = { log: testRuntime('failover').log, answer_max_ms: ANSWER_MAX_MS }
      const connections = await connect(bothUrls(), {
        ...options,
        ...(isDirect && { direct_url: bothUrls() }),
      })
      const { hot, lone, connect: listen, end } = connections
      const old = await hot.connect()
      const oldLone = await lone.connect()
      await primary.pause()
      await promote()
      const cut = [old, oldLone].map(
        (client) => new Promise<void>((resolve) => client.once('end', resolve)),
      )
      await expect.poll(() => opens(connections), patient).toBe(true)
      await primary.resume()
      await Promise.all(cut)
      old.release(true)
      oldLone.release(true)
      // The old primary now takes writes, and the new one is away.
      await standby.kill()
      await expect.poll(() => opens(connections), patient).toBe(false)
      for (let n = 0; n < 4; n++) {
        expect(await opens(connections)).toBe(false)
        await expect(lone.connect()).rejects.toThrow()
        await expect(listen?.()).rejects.toThrow()
      }
      await standby.start()
      await expect.poll(() => opens(connections), patient).toBe(true)
      const listening = async () => {
        const client = await listen?.()
        const result = await client?.query('select pg_is_in_recovery() as is_standby')
        await client?.end()
        return result?.rows
      }
      await expect
        .poll(() => listening().catch(() => null), patient)
        .toEqual([{ is_standby: false }])
      await end()
    },
    60_000,
  )

  it('is left when its commits wait for the standby that replaced it', async () => {
    const id = await bench.workspace(1_000_000)
    const { sent, done, stop } = sendAlways(id, 4)
    await expect.poll(done, patient).toBeGreaterThan(10)
    await promote()
    const before = sent.length
    try {
      await expect.poll(() => done(before), { timeout: 30_000 }).toBeGreaterThan(10)
    } finally {
      await stop()
    }
    await primary.kill()
    await expectNothingLost(
      id,
      sent.filter(({ outcome }) => outcome === 'done'),
    )
  }, 90_000)
})

it('uses a server that does not report its timeline', async () => {
  const owner = await connectTo(primary.url)
  await owner.query('create role app login')
  await owner.query('revoke execute on function pg_walfile_name(pg_lsn) from public')
  await owner.end()
  const url = bothUrls().replace('//svc@', '//app@')
  const connections = await connect(url, { log: testRuntime('failover').log })
  expect(await opens(connections)).toBe(true)
  await (await connections.connect?.())?.end()
  await connections.end()
}, 60_000)

it('goes on at another cluster, as after a restore, and not back to the one before', async () => {
  await promote()
  const restored = await startPostgres({ is_other_cluster: true })
  try {
    // The timeline of the restored one is earlier.
    const url = standby.url.replace('@', `@${encodeURIComponent(restored.folder)},`)
    await restored.kill()
    const options = { log: testRuntime('failover').log, answer_max_ms: ANSWER_MAX_MS }
    const connections = await connect(url, options)
    await standby.kill()
    await expect.poll(() => opens(connections), patient).toBe(false)
    await restored.start()
    await expect.poll(() => opens(connections), patient).toBe(true)
    await standby.start()
    await restored.kill()
    await expect.poll(() => opens(connections), patient).toBe(false)
    for (let n = 0; n < 4; n++) expect(await opens(connections)).toBe(false)
    await restored.start()
    await expect.poll(() => opens(connections), patient).toBe(true)
    await connections.end()
  } finally {
    await restored.stop()
  }
}, 60_000)
