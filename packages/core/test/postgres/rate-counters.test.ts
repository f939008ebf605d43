import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Counter } from '../../src/storage/ports/hot.ts'
import type { Storage } from '../../src/storage/ports/storage.ts'
import { only } from '../storage/bench.ts'
import { postgresBench } from './bench.ts'

const bench = postgresBench()
const WINDOW_MS = 60_000

let another: Storage
beforeEach(async () => {
  another = await bench.another('another')
})
afterEach(() => another?.close())

/** Each with a clock of its own that is years off: the server's counts. */
const count = async (storage: Storage, key: string, overrides: object = {}): Promise<Counter> =>
  only(
    await storage.hot.count([
      {
        key,
        window_ms: WINDOW_MS,
        add: 1,
        now: storage === another ? new Date(0) : bench.clock.now(),
        elapsed_ms: performance.now(),
        ...overrides,
      },
    ]),
  )

async function rows(statement: string): Promise<Record<string, unknown>[]> {
  const owner = await bench.connect()
  const found = await owner.query(statement)
  await owner.end()
  return found.rows
}

describe('several servers on one database', () => {
  it('give every caller a number of his own, and none twice', async () => {
    const keys = ['a', 'b', 'c', 'd']
    const counters = await Promise.all(
      Array.from({ length: 4_000 }, async (_, i) => {
        const key = keys[(i * 7) % 4] ?? ''
        return { key, ...(await count(i % 2 ? bench.storage : another, key)) }
      }),
    )
    for (const key of keys) {
      const mine = counters.filter((counter) => counter.key === key)
      const numbers = mine.map((counter) => counter.count).sort((x, y) => x - y)
      expect(numbers).toEqual(Array.from({ length: 1_000 }, (_, i) => i + 1))
    }
    for (const { ends_in_ms } of counters) {
      expect(ends_in_ms).toBeGreaterThan(0)
      expect(ends_in_ms).toBeLessThanOrEqual(WINDOW_MS)
    }
  })

  it('never wait for each other in a circle, whatever the order in which they ask', async () => {
    const keys = Array.from({ length: 200 }, (_, i) => `key ${i}`)
    const time = bench.time()
    const batch = (some: string[]) =>
      some.map((key) => ({ key, window_ms: WINDOW_MS, add: 1 as const, ...time }))
    const before = await deadlocks()
    for (let i = 0; i < 40; i++) {
      await Promise.all([
        bench.storage.hot.count(batch(keys)),
        another.hot.count(batch(keys.toReversed())),
      ])
    }
    expect(await deadlocks()).toBe(before)
    expect((await count(another, 'key 0', { add: 0 })).count).toBe(80)
  })

  async function deadlocks(): Promise<unknown> {
    const [row] = await rows(
      'select deadlocks::int from pg_stat_database where datname = current_database()',
    )
    return row?.deadlocks
  }

  it('begin a new window once, when the server says that one has ended', async () => {
    const window_ms = 400
    await Promise.all([1, 2, 3].map(() => count(another, 'a', { window_ms })))
    const { ends_in_ms } = await count(bench.storage, 'a', { window_ms, add: 0 })
    await new Promise((resolve) => setTimeout(resolve, ends_in_ms + 1))
    const counters = await Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        count(i % 2 ? bench.storage : another, 'a', { window_ms: WINDOW_MS }),
      ),
    )
    const numbers = counters.map((counter) => counter.count).sort((x, y) => x - y)
    expect(numbers).toEqual(Array.from({ length: 200 }, (_, i) => i + 1))
  })

  it('count in the window that began while they waited for the row', async () => {
    await count(bench.storage, 'a')
    const other = await bench.connect()
    await other.query('begin')
    await other.query("update rate_counters set count = 7, ends_at = now() + interval '70 seconds'")
    const waiting = count(bench.storage, 'a')
    await bench.untilSessionWaits()
    await other.query('commit')
    await other.end()
    expect(await waiting).toEqual({ count: 8, ends_in_ms: WINDOW_MS })
  })
})

describe('counters that ended', () => {
  const sweep = (limit: number) => another.hot.sweepCounters?.(new Date(0), limit)
  const left = async () =>
    (await rows('select key from rate_counters order by key')).map(({ key }) => key)

  it('are swept in steps, the oldest first, and running ones are left', async () => {
    await count(bench.storage, 'running')
    for (const [i, key] of ['first', 'second', 'third'].entries()) {
      await rows(`insert into rate_counters values ('${key}', 1, now() - interval '${9 - i} s')`)
    }
    expect(await sweep(2)).toBe(2)
    expect(await left()).toEqual(['running', 'third'])
    expect(await sweep(2)).toBe(1)
    expect(await sweep(2)).toBe(0)
    expect(await left()).toEqual(['running'])
  })

  it('are swept without waiting: a counter in use is skipped', async () => {
    await rows(
      "insert into rate_counters values ('busy', 5, now() - interval '9 s'), ('gone', 1, now())",
    )
    const other = await bench.connect()
    await other.query('begin')
    await other.query("select 1 from rate_counters where key = 'busy' for update")
    expect(await sweep(10)).toBe(1)
    await other.query('rollback')
    await other.end()
    expect(await left()).toEqual(['busy'])
    expect((await count(bench.storage, 'busy')).count).toBe(1)
    expect(await sweep(10)).toBe(0)
  })

  it('lose no count to a simultaneous sweep', async () => {
    let going = true
    const sweeping = (async () => {
      while (going) await sweep(100)
    })()
    for (let round = 0; round < 30; round++) {
      await rows("update rate_counters set ends_at = now() - interval '1 s'")
      const counters = await Promise.all(
        Array.from({ length: 60 }, (_, i) => count(i % 2 ? bench.storage : another, 'a')),
      )
      const numbers = counters.map((counter) => counter.count).sort((x, y) => x - y)
      expect(numbers).toEqual(Array.from({ length: 60 }, (_, i) => i + 1))
    }
    going = false
    await sweeping
  })
})
