import type pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SMS_PRICE } from '../fixtures.ts'
import { only } from '../storage/bench.ts'
import { postgresBench } from './bench.ts'

const bench = postgresBench()

let other: pg.Client
beforeEach(async () => {
  other = await bench.connect()
})
afterEach(() => other?.end())

describe('connections that are lost', () => {
  /** Cuts every connection of the storage; answers how many there were. */
  async function cut(): Promise<number> {
    const { rowCount } = await other.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'svc' and datname = current_database()",
    )
    return rowCount ?? 0
  }

  it('while unused fail no call', async () => {
    const id = await bench.workspace(2)
    expect(await bench.accept(bench.make.send(id))).toEqual({ outcome: 'accepted' })
    expect(await cut()).toBeGreaterThan(0)
    await bench.storage.ping()
    await cut()
    expect(await bench.accept(bench.make.send(id))).toEqual({ outcome: 'accepted' })
    await cut()
    await bench.storage.write(({ credits }) => credits.post(id, bench.make.grant(SMS_PRICE)))
    await cut()
    expect(await bench.account(id)).toMatchObject({ balance: SMS_PRICE, seq: 4 })
  })

  it('in the middle of the work lose nothing that was answered, and charge nothing twice', async () => {
    const id = await bench.workspace(100_000)
    const accepted: string[] = []
    let going = true
    const callers = Array.from({ length: 16 }, async () => {
      while (going) {
        const request = bench.make.send(id)
        const answer = await bench.accept(request).catch(() => null)
        if (answer?.outcome === 'accepted') accepted.push(only(request.messages).id)
      }
    })
    for (let i = 0; i < 15; i++) {
      await new Promise((resolve) => setTimeout(resolve, 40))
      await cut()
    }
    going = false
    await Promise.all(callers)

    await bench.expectSound(id)
    const { messages } = bench.storage.read
    const stored = await messages.list(id, {}, { limit: 1_000_000, offset: 0 })
    const known = new Set(stored.map((message) => message.id))
    expect(accepted.filter((message) => !known.has(message))).toEqual([])
    expect(accepted.length).toBeGreaterThan(0)
  })
})
