import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SMS_PRICE } from '../fixtures.ts'
import { EVERYTHING } from '../storage/bench.ts'
import { patient, postgresBench } from './bench.ts'
import { type ServerProcess, startServer } from './servers.ts'

const bench = postgresBench()

/** They last until a test kills one. */
let first: ServerProcess
let second: ServerProcess
beforeEach(async () => {
  const running = (server?: ServerProcess) => (server?.runs() ? server : startServer(bench.url()))
  ;[first, second] = await Promise.all([running(first), running(second)])
})
const killBoth = () => Promise.all([first?.kill(), second?.kill()])
// The answer that a failed test did not await would be read by the next test.
afterEach(({ task }) => (task.result?.state === 'fail' ? killBoth() : undefined))
afterAll(killBoth)

describe('two servers on one database', () => {
  it('accept together until the credits are spent exactly', async () => {
    const workspace_id = await bench.workspace(1_500)
    const work = { task: 'spend', workspace_id } as const
    const [one, other] = await Promise.all([first.run(work), second.run(work)])
    expect(one.accepted.length).toBeGreaterThan(0)
    expect(other.accepted.length).toBeGreaterThan(0)
    expect(one.accepted.length + other.accepted.length).toBe(1_500)
    expect([...one.others, ...other.others]).toEqual([
      'insufficient_credits',
      'insufficient_credits',
    ])
    expect(await bench.account(workspace_id)).toMatchObject({ balance: 0 })
    await bench.expectSound(workspace_id)
  })

  it('give one answer to requests with one key, whichever server receives them', async () => {
    const workspace_id = await bench.workspace(100)
    const keys = Array.from({ length: 30 }, (_, i) => `key ${i}`)
    const work = { task: 'repeat', workspace_id, keys } as const
    const [one, other] = await Promise.all([first.run(work), second.run(work)])
    for (const [i, key] of keys.entries()) {
      const answers = [one[i], other[i]]
      expect(answers.map((answer) => answer?.outcome).sort()).toEqual(['accepted', 'replayed'])
      expect(answers[0]).toMatchObject({ key, response: answers[1]?.response })
    }
    expect(await bench.account(workspace_id)).toMatchObject({ balance: 70 * SMS_PRICE })
    await bench.expectSound(workspace_id)
  })

  it('never claim the same message', async () => {
    const workspaceId = await bench.workspace(1_000)
    const request = bench.make.bulk(workspaceId, 1_000)
    await bench.accept(request)
    const work = { task: 'claimAll', limit: 10, lease_ms: 60_000 } as const
    const [one, other] = await Promise.all([first.run(work), second.run(work)])
    expect(one.claimed.length).toBeGreaterThan(0)
    expect(other.claimed.length).toBeGreaterThan(0)
    expect([...one.claimed, ...other.claimed].sort()).toEqual(
      request.messages.map(({ id }) => id).sort(),
    )
  })

  it('send, refund and deliver together, each thing once', async () => {
    const workspaceId = await bench.workspace(300)
    const webhooks = [await bench.webhook(workspaceId), await bench.webhook(workspaceId)]
    const requests = Array.from({ length: 300 }, (_, i) =>
      bench.make.send(workspaceId, { recipient: `+2557000${1_000 + i}` }),
    )
    await bench.storage.hot.accept(requests)
    const work = { task: 'dispatch' } as const
    const [one, other] = await Promise.all([first.run(work), second.run(work)])

    expect(new Set([...one.sent, ...other.sent]).size).toBe(300)
    expect(one.sent.length + other.sent.length).toBe(300)
    const { messages, webhooks: read } = bench.storage.read
    expect(await messages.count(workspaceId, { status: 'failed' })).toBe(30)
    expect(await messages.count(workspaceId, { status: 'sent' })).toBe(270)
    const delivered = [...one.delivered, ...other.delivered]
    expect(delivered).toHaveLength(600)
    expect(new Set(delivered).size).toBe(600)
    for (const { id } of webhooks) {
      const deliveries = await read.deliveries(workspaceId, id, EVERYTHING)
      expect(deliveries).toHaveLength(300)
      expect(new Set(deliveries.map(({ status }) => status))).toEqual(new Set(['delivered']))
      expect(await read.byId(workspaceId, id)).toMatchObject({ consecutive_failures: 0 })
    }
    expect(await bench.account(workspaceId)).toMatchObject({ balance: 30 * SMS_PRICE, seq: 331 })
  })

  it('take over what a killed one had claimed, when its lease ends and not before', async () => {
    const LEASE_MS = 1_500
    const workspaceId = await bench.workspace(50)
    const request = bench.make.bulk(workspaceId, 50)
    await bench.accept(request)
    const begun = performance.now()
    const lost = await first.run({ task: 'claimAll', limit: 50, lease_ms: LEASE_MS })
    expect(lost.claimed).toHaveLength(50)
    await first.kill()

    const taken: string[] = []
    while (taken.length < 50) {
      const work = { task: 'claimAll', limit: 50, lease_ms: 60_000 } as const
      const { claimed, interrupted } = await second.run(work)
      expect(interrupted).toEqual(claimed)
      if (claimed.length > 0) expect(performance.now() - begun).toBeGreaterThan(LEASE_MS - 1)
      taken.push(...claimed)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    expect(taken.sort()).toEqual(lost.claimed.sort())
  })

  it('are not held up by one that is killed in the middle of accepting', async () => {
    // More than both spend until the kill.
    const workspace_id = await bench.workspace(10_000)
    const work = { task: 'spend', workspace_id } as const
    const lost = first.run(work).catch((error: Error) => error.message)
    const spent = second.run(work)
    await expect
      .poll(async () => (await bench.account(workspace_id)).seq, patient)
      .toBeGreaterThan(100)
    await first.kill()
    expect(await lost).toMatch(/ended/)
    expect((await spent).others).toEqual(['insufficient_credits'])
    expect(await bench.account(workspace_id)).toMatchObject({ balance: 0 })
    await bench.expectSound(workspace_id)
  })

  it('let one of them sweep at a time, and the other when that is killed', async () => {
    const long = first.run({ task: 'sweep', ms: 60_000 }).catch(() => 'killed')
    const owner = await bench.connect()
    const held =
      "select count(*)::int as n from pg_locks join pg_database d on d.oid = database where locktype = 'advisory' and datname = current_database()"
    await expect.poll(async () => (await owner.query(held)).rows[0].n, patient).toBe(1)
    expect(await second.run({ task: 'sweep', ms: 0 })).toBe(false)
    expect(await bench.storage.alone?.('another task', async () => 'done')).toBe('done')
    await first.kill()
    expect(await long).toBe('killed')
    await expect.poll(() => second.run({ task: 'sweep', ms: 0 }), patient).toBe(true)
    expect(await second.run({ task: 'sweep', ms: 0 })).toBe(true)
  })
})
