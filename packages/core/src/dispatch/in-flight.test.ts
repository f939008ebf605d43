import { beforeEach, describe, expect, it } from 'vitest'
import { createInFlight, type InFlight } from './in-flight.ts'

let elapsed_ms: number
let inFlight: InFlight

beforeEach(() => {
  elapsed_ms = 0
  inFlight = createInFlight({ max: 10, elapsed: () => elapsed_ms })
})

describe('messages in flight', () => {
  it('are not limited for a fast provider', () => {
    inFlight.began('a', 1_000)
    elapsed_ms = 4_999
    expect(inFlight.busy('a', 1_000)).toBe(null)
  })

  it('are limited for a provider that does not answer, and for no other', () => {
    inFlight.began('a', 10)
    inFlight.began('b', 9)
    elapsed_ms = 5_000
    expect(inFlight.busy('a')).toMatchObject({ wait_ms: 1_000 })
    expect(inFlight.busy('b')).toBe(null)
    expect(inFlight.busy('b', 1)).toMatchObject({ wait_ms: 1_000 })
    expect(inFlight.busy('c', 10)).toBe(null)
  })

  it('stay limited after a slow call until a faster call', () => {
    const ended = inFlight.began('a', 10)
    elapsed_ms = 5_000
    ended()
    expect(inFlight.busy('a')).toBe(null)
    expect(inFlight.busy('a', 10)).toMatchObject({ wait_ms: 1_000 })
    inFlight.began('a', 1)()
    expect(inFlight.busy('a', 10)).toBe(null)
  })

  it('are limited by the oldest call, even if later calls ended', () => {
    inFlight.began('a', 5)
    elapsed_ms = 4_000
    const second = inFlight.began('a', 5)
    inFlight.began('a', 5)
    elapsed_ms = 5_000
    second()
    second()
    expect(inFlight.busy('a')).toMatchObject({ wait_ms: 1_000 })
  })
})

/**
 * A provider with connections to a peer that works on `width` requests at once, each of which takes `latency_ms`; there are
 * always messages. Returns the answers of each second, and the longest wait for an answer.
 */
function simulate(
  {
    connections,
    width,
    latency_ms,
    isLost = () => false,
  }: { connections: number; width: number; latency_ms: () => number; isLost?: () => boolean },
  seconds: number,
) {
  const count = { calls: 0, took_ms: 0 }
  const load = createInFlight({
    max: 384,
    elapsed: () => elapsed_ms,
    connections: new Map([['a', { each: connections, all: connections }]]),
    callsOf: () => ({ ...count }),
  })
  interface Batch {
    left: number
    unanswered: number
    end: (unanswered?: number) => void
  }
  const events: { at_ms: number; run: () => void }[] = []
  const waiting: Batch[] = []
  const inPeer: (() => void)[] = []
  let connected = 0
  let working = 0
  let longest_ms = 0
  const perSecond = Array.from({ length: seconds }, () => 0)

  function work(began_ms: number, batch: Batch): void {
    working += 1
    const lost = isLost()
    const at_ms = elapsed_ms + (lost ? 15_000 : latency_ms())
    const run = () => {
      working -= 1
      connected -= 1
      const took_ms = elapsed_ms - began_ms
      if (lost) batch.unanswered += 1
      else {
        longest_ms = Math.max(longest_ms, took_ms)
        count.calls = (count.calls + 1) | 0
        count.took_ms = (count.took_ms + Math.round(took_ms)) | 0
      }
      const second = Math.floor(elapsed_ms / 1_000)
      if (second < seconds) perSecond[second] = (perSecond[second] as number) + 1
      batch.left -= 1
      if (batch.left === 0) batch.end(batch.unanswered)
      inPeer.shift()?.()
      step()
    }
    events.push({ at_ms, run })
    events.sort((a, b) => a.at_ms - b.at_ms)
  }

  function step(): void {
    for (;;) {
      const { messages, batch } = load.roomOf('a')
      const size = Math.min(messages, batch)
      if (size === 0) break
      const one = { left: size, unanswered: 0, end: load.began('a', size) }
      for (let i = 0; i < size; i++) waiting.push(one)
    }
    while (connected < connections && waiting.length > 0) {
      connected += 1
      const began_ms = elapsed_ms
      const batch = waiting.shift() as Batch
      if (working < width) work(began_ms, batch)
      else inPeer.push(() => work(began_ms, batch))
    }
  }

  step()
  while (elapsed_ms < seconds * 1_000) {
    const next = events.shift()
    if (!next) throw new Error('nothing happens any more')
    elapsed_ms = next.at_ms
    next.run()
  }
  return { perSecond, longest_ms }
}

describe('the messages of a provider with a limited number of connections', () => {
  const latencies = [200, 1_000, 2_500, 8_000]
  const cases = latencies.flatMap((latency_ms) =>
    [1, 10, 100].map((connections) => ({ latency_ms, connections })),
  )
  it.each(cases)(
    'fill $connections connections of $latency_ms ms, and wait for none of them in doubt',
    ({ latency_ms, connections }) => {
      const learning_s = Math.ceil((10 * latency_ms) / 1_000)
      const measured_s = Math.ceil((5 * latency_ms) / 1_000)
      const { perSecond, longest_ms } = simulate(
        { connections, width: Number.POSITIVE_INFINITY, latency_ms: () => latency_ms },
        learning_s + measured_s,
      )
      const answered = perSecond.slice(learning_s).reduce((sum, one) => sum + one, 0)
      const possible = (connections / latency_ms) * 1_000 * measured_s
      expect(answered).toBeGreaterThanOrEqual(0.9 * possible - 1)
      expect(longest_ms).toBe(latency_ms)
    },
  )

  it('take all connections soon after a slow moment at their beginning', () => {
    const latency_ms = () => (elapsed_ms > 2_500 && elapsed_ms < 3_500 ? 2_200 : 1_000)
    const { perSecond } = simulate(
      { connections: 100, width: Number.POSITIVE_INFINITY, latency_ms },
      25,
    )
    const answered = perSecond.slice(15).reduce((sum, one) => sum + one, 0)
    expect(answered).toBeGreaterThanOrEqual(0.9 * 100 * 10)
  })

  it('keep their pace when the latency varies and grows', () => {
    let i = 0
    const latency_ms = () => (elapsed_ms < 30_000 ? 20 : 2_500) * (0.5 + ((i++ * 7) % 11) / 10)
    const { perSecond } = simulate(
      { connections: 50, width: Number.POSITIVE_INFINITY, latency_ms },
      90,
    )
    const answered = perSecond.slice(60).reduce((sum, one) => sum + one, 0)
    expect(answered).toBeGreaterThanOrEqual(0.9 * (50 / 2_500) * 1_000 * 30)
  })

  it('keep most of their pace while an answer is lost now and then', () => {
    const random = randomFrom(7)
    const { perSecond } = simulate(
      {
        connections: 100,
        width: Number.POSITIVE_INFINITY,
        latency_ms: () => 200 * (0.5 + random()),
        isLost: () => random() < 0.002,
      },
      60,
    )
    const answered = perSecond.slice(20).reduce((sum, one) => sum + one, 0)
    // One lost answer in 500 holds its connection as long as 75 others: 0.87 of the connections are left.
    expect(answered).toBeGreaterThanOrEqual(0.8 * (100 / 200) * 1_000 * 40)
  })

  it.each([
    [1, 200],
    [1, 1_000],
    [4, 2_000],
    [20, 2_000],
  ])('do not wait in a peer that works on %d at once, each for %d ms', (width, latency_ms) => {
    const { perSecond, longest_ms } = simulate(
      { connections: 100, width, latency_ms: () => latency_ms },
      120,
    )
    const answered = perSecond.slice(30).reduce((sum, one) => sum + one, 0)
    expect(answered).toBeGreaterThanOrEqual(0.9 * (width / latency_ms) * 1_000 * 90)
    // The deadline of an answer is 15 s.
    expect(longest_ms).toBeLessThan(12_000)
  })

  it('are not limited once the provider answers quickly', () => {
    const count = { calls: 0, took_ms: 0 }
    const load = createInFlight({
      max: 10,
      elapsed: () => elapsed_ms,
      connections: new Map([['a', { each: 50, all: 50 }]]),
      callsOf: () => ({ ...count }),
    })
    const ended = load.began('a', 10)
    expect(load.busy('a', 100)).not.toBe(null)
    Object.assign(count, { calls: 10, took_ms: 50 })
    ended()
    load.began('a', 1_000)
    expect(load.busy('a', 1_000)).toBe(null)
  })

  it('wait for a provider that falls silent, and not for one call that gets no answer', () => {
    const count = { calls: 0, took_ms: 0 }
    const load = createInFlight({
      max: 384,
      elapsed: () => elapsed_ms,
      connections: new Map([['a', { each: 50, all: 50 }]]),
      callsOf: () => ({ ...count }),
    })
    const answered = load.began('a', 1)
    Object.assign(count, { calls: 1, took_ms: 5 })
    answered()
    load.began('a', 120)
    const last = load.began('a', 1)
    elapsed_ms = 3_000
    expect(load.busy('a')).toMatchObject({ wait_ms: 1_500 })
    Object.assign(count, { calls: 2, took_ms: 10 })
    last()
    expect(load.busy('a')).toBe(null)
  })
})

/** A provider with connections, whose requests end when the test says so. */
function opened({ all, each = all, max = 384 }: { all: number; each?: number; max?: number }) {
  const count = { calls: 0, took_ms: 0 }
  const load = createInFlight({
    max,
    elapsed: () => elapsed_ms,
    connections: new Map([['a', { each, all }]]),
    callsOf: () => ({ ...count }),
  })
  /**
   * Sends as many requests as the provider has room for, each of which takes so long, the first ones without an answer.
   * Returns their number.
   */
  function round(
    tookOf: (requests: number, i: number) => number,
    { isFull = true, lost = 0, left = 0 } = {},
  ): number {
    const { messages } = load.roomOf('a')
    const ends = Array.from({ length: messages - left }, () => load.began('a', 1))
    if (isFull && left === 0) load.roomOf('a')
    const began_ms = elapsed_ms
    for (const [i, end] of ends.entries()) {
      const took_ms = tookOf(messages, i)
      elapsed_ms = Math.max(elapsed_ms, began_ms + took_ms)
      if (i >= lost) {
        count.calls += 1
        count.took_ms += took_ms
      }
      end(i < lost ? 1 : 0)
    }
    return messages
  }
  return { load, count, round }
}

describe('the room of a provider', () => {
  it('has no limit without known connections', () => {
    expect(inFlight.roomOf('a')).toEqual({ messages: Number.POSITIVE_INFINITY, batch: 64 })
    expect(inFlight.isFull('a')).toBe(false)
  })

  it('stays as it is if no request is counted', () => {
    const connections = new Map([['a', { each: 4, all: 4 }]])
    const load = createInFlight({ max: 10, elapsed: () => elapsed_ms, connections })
    load.began('a', 4)()
    expect(load.roomOf('a')).toEqual({ messages: 4, batch: 1 })
  })

  it.each([
    [3, 3],
    [8, 8],
    [100, 8],
  ])('of %d connections is %d requests at first, each alone', (all, room) => {
    const { load } = opened({ all })
    expect(load.roomOf('a')).toEqual({ messages: room, batch: 1 })
    const end = load.began('a', 2)
    expect(load.roomOf('a').messages).toBe(room - 2)
    load.began('a', room)
    expect(load.roomOf('a').messages).toBe(0)
    end()
    end()
    expect(load.roomOf('a').messages).toBe(0)
  })

  it.each([
    // Some wait in the threads, so that no connection is idle.
    [1_000, 4 + 1, 1],
    [250, 4 + 4, 1],
    // Quick answers: a batch for 100 ms of each thread's connections, of at most 64.
    [50, 4 + 20, 1],
    [49, 4 + 20, Math.floor(200 / 49)],
    [10, 4 + 100, 20],
    [1, 4 + 1_000, 64],
    [0, Number.POSITIVE_INFINITY, 64],
  ])('after an answer in %d ms is %d messages, %d in a batch', (took_ms, messages, batch) => {
    const { load, count } = opened({ all: 4, each: 2 })
    const end = load.began('a', 1)
    Object.assign(count, { calls: 1, took_ms })
    end()
    expect(load.roomOf('a')).toEqual({ messages, batch })
  })

  it('has a batch of one message where a thread has few connections', () => {
    const { load, count } = opened({ all: 400, each: 0.1 })
    const end = load.began('a', 1)
    Object.assign(count, { calls: 1, took_ms: 40 })
    end()
    expect(load.roomOf('a').batch).toBe(1)
  })

  it('learns the latency from the latest answers, over the wrap of both counts', () => {
    const { load, count } = opened({ all: 4 })
    Object.assign(count, { calls: 2 ** 31 - 1, took_ms: 2 ** 31 - 500 })
    const [first, second, third] = [load.began('a', 1), load.began('a', 1), load.began('a', 1)]
    Object.assign(count, { calls: -(2 ** 31), took_ms: -(2 ** 31) + 500 })
    first()
    // 250 / 1,000 of four connections.
    expect(load.roomOf('a').messages).toBe(4 + 1 - 2)
    // No request ended since.
    second()
    expect(load.roomOf('a').messages).toBe(4 + 1 - 1)
    Object.assign(count, { calls: -(2 ** 31) + 1, took_ms: -(2 ** 31) + 500 })
    third()
    // 0.7 × 1,000 ms.
    expect(load.roomOf('a').messages).toBe(4 + Math.floor(1_000 / 700))
  })
})

describe('a claim for a provider with connections', () => {
  it('is possible up to its requests and those that wait, before an answer is known', () => {
    const { load } = opened({ all: 4 })
    expect(load.busy('a', 1_000)).toBeNull()
    const wait = load.waits('a', 30)
    load.began('a', 5)
    // 4 at once, and 32 that wait.
    expect(load.busy('a')).toBeNull()
    expect(load.busy('a', 1)).toEqual({ wait_ms: 250, is_slow: false })
    wait()
    expect(load.busy('a', 30)).toBeNull()
    expect(load.busy('a', 31)).not.toBeNull()
  })

  it.each([
    // Messages for two seconds wait, and at least one for each connection.
    [1_000, 4 + 8, 1_000],
    [500, 4 + 16, 1_000],
    [3_000, 4 + 4, 1_500],
    [30_000, 4 + 4, 10_000],
    // At most as many as a slow provider may have, unless it is quick.
    [50, 100, 600],
    [49, 4 + 164, 1_004.5],
    [1, 4 + 8_000, 1_000],
  ])(
    'after an answer in %d ms is possible up to %d messages, else waits %d ms',
    (took_ms, capacity, wait_ms) => {
      const { load, count } = opened({ all: 4, max: 100 })
      const end = load.began('a', 1)
      Object.assign(count, { calls: 1, took_ms })
      end()
      expect(load.busy('a', capacity - 1)).toBeNull()
      expect(load.busy('a', capacity)).toEqual({ wait_ms, is_slow: false })
    },
  )

  it('counts a provider that is silent for a second as slow as it is silent', () => {
    const { load, count } = opened({ all: 4 })
    const end = load.began('a', 1)
    Object.assign(count, { calls: 1, took_ms: 100 })
    end()
    load.began('a', 4)
    elapsed_ms = 999
    expect(load.busy('a', 79)).toBeNull()
    elapsed_ms = 1_000
    expect(load.busy('a', 7)).toBeNull()
    expect(load.busy('a', 8)).toEqual({ wait_ms: 1_000, is_slow: false })
    elapsed_ms = 4_999
    expect(load.busy('a', 8)?.is_slow).toBe(false)
    elapsed_ms = 5_000
    expect(load.busy('a', 8)).toEqual({ wait_ms: 2_500, is_slow: true })
  })

  it('says when a provider without connections is full', () => {
    const end = inFlight.began('a', 10)
    elapsed_ms = 4_999
    expect(inFlight.isFull('a')).toBe(false)
    elapsed_ms = 5_000
    expect(inFlight.isFull('a')).toBe(true)
    expect(inFlight.isFull('b')).toBe(false)
    expect(inFlight.busy('a')).toEqual({ wait_ms: 1_000, is_slow: true })
    end()
    expect(inFlight.isFull('a')).toBe(false)
    // Slow until a faster call ends.
    const faster = inFlight.began('a', 10)
    expect(inFlight.isFull('a')).toBe(true)
    elapsed_ms += 4_999
    faster()
    inFlight.began('a', 10)
    expect(inFlight.isFull('a')).toBe(false)
  })
})

describe('the requests that a provider gets at once, round by round', () => {
  type Round = Parameters<ReturnType<typeof opened>['round']>
  const times = (count: number, one: number) => Array<number>(count).fill(one)

  it.each<[string, tookOf: Round[0], expected: number[]]>([
    // The last ones have connections for all, and some wait in the threads.
    ['double while it is as fast', () => 1_000, [8, 16, 32, 64, 125, 125, 125]],
    [
      'are tried less and less often while more only wait in the peer, and then fewer, too',
      (requests) => 125 * requests,
      [8, 16, ...times(4, 8), 10, 10, ...times(8, 8), 10, 10, ...times(8, 8), 6, 6, 6, 8, 8, 6],
    ],
    [
      'do not become fewer while it answers within a second',
      (requests) => 124 * requests,
      [
        8,
        16,
        ...times(4, 8),
        10,
        10,
        ...times(8, 8),
        10,
        10,
        ...times(8, 8),
        10,
        10,
        ...times(8, 8),
      ],
    ],
    [
      'may become more while it answers quickly',
      (requests) => ({ 8: 50, 16: 99 })[requests] ?? 1_000,
      [8, 16, 32, 16, 16, 16, 16, 20],
    ],
    [
      'may not if it is no longer quick',
      (requests) => ({ 8: 50, 16: 100 })[requests] ?? 1_000,
      [8, 16, 8, 8, 8, 8, 10, 10],
    ],
    ['become more for half of the gain', (requests) => (requests === 8 ? 750 : 1_000), [8, 16, 32]],
    ['do not for less', (requests) => (requests === 8 ? 749 : 1_000), [8, 16, 8]],
    [
      'grow slowly if they end one after the other',
      (_, i) => (i === 0 ? 100 : 400),
      [8, 8, 10, 10, 10, 13, 13, 13],
    ],
    ['grow fast if nearly all end together', (_, i) => (i === 0 ? 120 : 360), [8, 16, 32]],
  ])('%s', (_, tookOf, expected) => {
    const { round } = opened({ all: 100 })
    expect(expected.map(() => round(tookOf))).toEqual(expected)
  })

  it.each<[string, all: number, optionsOf: (i: number) => Round[1], expected: number[]]>([
    ['stay while they are not all used', 100, () => ({ isFull: false }), [8, 8, 8, 8]],
    [
      'change after as many answers as there are requests',
      100,
      (i) => ({ left: i % 2 === 0 ? 1 : 0 }),
      [8, 8, 16, 16, 32, 32],
    ],
    ['stay after few without an answer', 100, (i) => ({ lost: i === 0 ? 2 : 0 }), [8, 8, 16]],
    [
      'are halved once by many without an answer, and grow after a while',
      100,
      (i) => ({ lost: i === 0 ? 3 : 0 }),
      [8, ...times(8, 4), 5, 5, 10, 20, 40, 80, 125],
    ],
    ['fall to one without answers', 100, () => ({ lost: 100 }), [8, 4, 2, 1, 1, 1]],
    [
      'fall below the connections',
      4,
      (i) => ({ lost: i === 0 ? 4 : 0 }),
      [4, 2, ...times(9, 1), 2, 2, 5, 5],
    ],
  ])('%s', (_, all, optionsOf, expected) => {
    const { round } = opened({ all })
    expect(expected.map((_, i) => round(() => 1_000, optionsOf(i)))).toEqual(expected)
  })

  it('are halved once for requests that began before the limit was lowered', () => {
    const { load } = opened({ all: 100 })
    const [first, second] = [load.began('a', 4), load.began('a', 4)]
    elapsed_ms = 1_000
    const third = load.began('a', 4)
    first(4)
    expect(load.roomOf('a').messages).toBe(0)
    second(4)
    third(0)
    // 4 are left; the third call began when the limit was lowered, and most messages had no answer.
    expect(load.roomOf('a').messages).toBe(2)
    const later = load.began('a', 1)
    elapsed_ms = 2_000
    later(1)
    expect(load.roomOf('a').messages).toBe(1)
  })
})

/** Numbers from 0 to 1 that depend only on the seed (a linear congruential generator). */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32
    return state / 2 ** 32
  }
}
