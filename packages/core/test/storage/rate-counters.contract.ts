import { expect, it } from 'vitest'
import type { Counter, Counting } from '../../src/storage/ports/hot.ts'
import { benchFor, type OpenStorage, only } from './bench.ts'

const WINDOW_MS = 60_000

/** Counting in fixed windows: every caller gets its own number, and no counter is removed early. */
export function rateCountersContract(open: OpenStorage): void {
  const bench = benchFor(open)
  const counting = (key: string, add: 0 | 1 = 1, window_ms = WINDOW_MS): Counting => {
    return { key, window_ms, add, ...bench.time() }
  }
  const counted = async (...args: Parameters<typeof counting>): Promise<Counter> =>
    only(await bench.storage.hot.count([counting(...args)]))

  it('counts each key by itself, and says when its window ends', async () => {
    expect(await counted('a')).toEqual({ count: 1, ends_in_ms: WINDOW_MS })
    bench.clock.advance(20_000)
    expect(await counted('a')).toEqual({ count: 2, ends_in_ms: 40_000 })
    expect(await counted('b', 1, 900_000)).toEqual({ count: 1, ends_in_ms: 900_000 })
    expect(await counted('a')).toEqual({ count: 3, ends_in_ms: 40_000 })
  })

  it('begins a new window when one has ended, and not a millisecond before', async () => {
    await counted('a')
    bench.clock.advance(WINDOW_MS - 1)
    expect(await counted('a')).toEqual({ count: 2, ends_in_ms: 1 })
    bench.clock.advance(1)
    expect(await counted('a', 0)).toEqual({ count: 0, ends_in_ms: WINDOW_MS })
    expect(await counted('a')).toEqual({ count: 1, ends_in_ms: WINDOW_MS })
    bench.clock.advance(WINDOW_MS - 1)
    expect(await counted('a')).toEqual({ count: 2, ends_in_ms: 1 })
  })

  it.each([-24, -1, 1, 24])(
    'never holds back for longer than a window when the clock is set by %i hours',
    async (hours) => {
      await counted('a')
      await counted('a')
      bench.clock.step(hours * 3_600_000)
      expect((await counted('a', 0)).ends_in_ms).toBeLessThanOrEqual(WINDOW_MS)
      const { count, ends_in_ms } = await counted('a')
      expect(ends_in_ms).toBeLessThanOrEqual(WINDOW_MS)
      // It continues or starts again, depending on the clock of the windows.
      expect([1, 3]).toContain(count)
      bench.clock.advance(WINDOW_MS)
      expect(await counted('a')).toEqual({ count: 1, ends_in_ms: WINDOW_MS })
    },
  )

  it('counts no read, and begins no window for it', async () => {
    expect(await counted('a', 0)).toEqual({ count: 0, ends_in_ms: WINDOW_MS })
    bench.clock.advance(10_000)
    expect(await counted('a')).toEqual({ count: 1, ends_in_ms: WINDOW_MS })
    bench.clock.advance(10_000)
    for (let i = 0; i < 3; i++) {
      expect(await counted('a', 0)).toEqual({ count: 1, ends_in_ms: 50_000 })
    }
  })

  it('gives a key that is many times in a batch each number once, in the order of the batch', async () => {
    await counted('a')
    const batch = [
      counting('a', 0),
      counting('b', 0),
      counting('a'),
      counting('b'),
      counting('a'),
      counting('a', 0),
      counting('new', 0),
      counting('b'),
    ]
    const counters = await bench.storage.hot.count(batch)
    expect(counters.map(({ count }) => count)).toEqual([1, 0, 2, 1, 3, 3, 0, 2])
    expect(new Set(counters.map(({ ends_in_ms }) => ends_in_ms))).toEqual(new Set([WINDOW_MS]))
    expect(await bench.storage.hot.count([])).toEqual([])
  })

  it('counts a batch at the moment of its latest call', async () => {
    await counted('a')
    bench.clock.advance(WINDOW_MS - 1)
    const early = counting('b')
    bench.clock.advance(1)
    const [, counter] = await bench.storage.hot.count([early, counting('a')])
    expect(counter).toEqual({ count: 1, ends_in_ms: WINDOW_MS })
  })

  it('counts beside keys that are looked up at the same moment', async () => {
    const key = bench.make.apiKey(await bench.workspace())
    await bench.storage.write(({ apiKeys }) => apiKeys.insert(key))
    const { hot } = bench.storage
    expect(
      await Promise.all([
        hot.findApiKey(key.key_hash),
        counted('a'),
        hot.findApiKey('no such key'),
        counted('a'),
        hot.findApiKey(key.key_hash),
        counted('b', 0),
      ]),
    ).toEqual([
      key,
      { count: 1, ends_in_ms: WINDOW_MS },
      null,
      { count: 2, ends_in_ms: WINDOW_MS },
      key,
      { count: 0, ends_in_ms: WINDOW_MS },
    ])
  })

  it('gives callers that come together each a number of his own', async () => {
    const counters = await Promise.all(
      Array.from({ length: 1_500 }, (_, i) => counted(`key ${i % 3}`, i % 5 === 0 ? 0 : 1)),
    )
    for (const key of [0, 1, 2]) {
      const mine = counters.filter((_, i) => i % 3 === key && i % 5 !== 0)
      const numbers = mine.map(({ count }) => count).sort((a, b) => a - b)
      expect(numbers).toEqual(Array.from({ length: 400 }, (_, i) => i + 1))
    }
  })

  it('forgets no counter before its window ends, however many others come', async () => {
    for (let i = 1; i <= 3; i++) await counted('held back', 1, 900_000)
    bench.clock.advance(WINDOW_MS)
    await bench.storage.hot.count(
      Array.from({ length: 20_000 }, (_, i) => counting(`flood ${i}`, 1, 1_000)),
    )
    bench.clock.advance(WINDOW_MS)
    await bench.storage.hot.sweepCounters?.(bench.clock.now(), 100_000)
    expect(await counted('held back', 1, 900_000)).toEqual({ count: 4, ends_in_ms: 780_000 })
    expect(await counted('flood 7', 0, 1_000)).toEqual({ count: 0, ends_in_ms: 1_000 })
  })

  it('counts whatever a key says', async () => {
    const keys = ["' or 1=1 --", 'e\u0301', 'é', '{"a"}', 'NULL', '', 'A', 'a', '\u{1F600}', 'a,b']
    for (const count of [1, 2]) {
      const counters = await bench.storage.hot.count(keys.map((key) => counting(key)))
      expect(counters).toEqual(keys.map(() => ({ count, ends_in_ms: WINDOW_MS })))
    }
  })
}
