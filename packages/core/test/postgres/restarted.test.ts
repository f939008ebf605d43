import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type PostgresServer, startPostgres } from '../postgres-server.ts'
import { only } from '../storage/bench.ts'
import { patient, serverBench } from './bench.ts'
import { timed } from './timed.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server?.stop())

const bench = serverBench(() => server.url)

/** All tries of one piece of work, on a machine that is busy. */
const BOUND_MS = 8_000

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

describe.each([
  ['is killed', () => server.kill()],
  ['is shut down', () => server.shutDown()],
])('a database that %s', (_, end) => {
  it('and started again loses nothing that was answered, charges nothing twice, and is used again', async () => {
    const id = await bench.workspace(100_000)
    const sent: { message: string; outcome: string; ms: number }[] = []
    let going = true
    const callers = Array.from({ length: 32 }, async () => {
      while (going) {
        const request = bench.make.send(id)
        const measured = await timed(async () => {
          expect(await bench.accept(request)).toEqual({ outcome: 'accepted' })
        })
        sent.push({ message: only(request.messages).id, ...measured })
      }
    })
    await expect.poll(() => sent.length, patient).toBeGreaterThan(100)
    await end()
    await pause(2_500)
    expect((await timed(() => bench.storage.ping())).outcome).not.toBe('done')
    await server.start()
    const before = sent.length
    await expect
      .poll(() => sent.slice(before).filter(({ outcome }) => outcome === 'done').length, patient)
      .toBeGreaterThan(100)
    going = false
    await Promise.all(callers)

    expect(Math.max(...sent.map(({ ms }) => ms))).toBeLessThan(BOUND_MS)
    const page = { limit: 1_000_000, offset: 0 }
    const messages = await bench.storage.read.messages.list(id, {}, page)
    const stored = new Set(messages.map((message) => message.id))
    const endedWith = (outcome: string) => sent.filter((each) => each.outcome === outcome)
    expect(endedWith('done').filter(({ message }) => !stored.has(message))).toEqual([])
    expect(endedWith('not_done').length).toBeGreaterThan(0)
    expect(endedWith('not_done').filter(({ message }) => stored.has(message))).toEqual([])
    const ledger = await bench.ledger(id)
    const paid = ledger.filter(({ kind }) => kind === 'send').map(({ ref_id }) => ref_id)
    expect(paid.sort()).toEqual([...stored].sort())
    expect(endedWith('insufficient_credits')).toEqual([])
  })

  it('wakes its listeners again', async () => {
    const id = await bench.workspace()
    const woken: unknown[] = []
    const stop = bench.storage.hot.onWake?.((work) => woken.push(work))
    await expect.poll(() => woken, patient).toEqual([null])
    await end()
    await server.start()
    // Announcements may have been lost meanwhile, so every server polls.
    await expect.poll(() => woken, patient).toEqual([null, null])
    expect(await bench.accept(bench.make.send(id))).toEqual({ outcome: 'accepted' })
    stop?.()
  })

  it('still knows who holds what', async () => {
    const id = await bench.workspace(2)
    await bench.accept(bench.make.bulk(id, 2))
    const [held] = await bench.claimMessages({ limit: 1 })
    if (!held) throw new Error('one is due')
    await end()
    await server.start()
    expect(await bench.claimMessages()).toHaveLength(1)
    const outcome = { type: 'accepted', provider_message_id: null, lookup_after_ms: null } as const
    expect(await bench.settle(held, { task: 'send', attempt: 1, outcome })).toBe(true)
    expect(await bench.message(id, held.message_id)).toMatchObject({ status: 'sent' })
    expect(await bench.claimMessages()).toEqual([])
  })
})
