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

/** Numbers from 0 to 1 that depend only on the seed (a linear congruential generator). */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32
    return state / 2 ** 32
  }
}
