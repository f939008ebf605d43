import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  createSequenceDetector,
  readSequenceLimit,
  type SequenceDetector,
  STEP_MAX,
} from './sequence-detector.ts'

const LIMIT = { max: 10, window_s: 60 }
const detector = (): SequenceDetector => createSequenceDetector(LIMIT)

/** A premium range of a satellite network. */
const numberAt = (n: number) => `+8816${String(300_000_000 + n)}`

/** The number of requests with one number each before the first run is found; all of them if none is found. */
function undetected(numbers: readonly string[], { every_ms = 0 } = {}): number {
  const watch = detector()
  const found = numbers.findIndex((to, i) => watch.check('w', [to], i * every_ms) !== null)
  return found === -1 ? numbers.length : found
}

describe('a sequence detector', () => {
  const range = Array.from({ length: 5_000 }, (_, n) => n)

  it.each([
    ['upwards', range],
    ['downwards', range.toReversed()],
    ['in steps of three', range.map((n) => n * STEP_MAX)],
    ['from the middle to both sides', range.map((n) => (n % 2 === 0 ? n : -n))],
    ['between others', range.flatMap((n) => [n, 100_000 + n * 1_000, 200_000_000 - n * 777])],
  ])('finds a run in 5,000 numbers in sequence before 50 sends: %s', (_, steps) => {
    expect(undetected(steps.map(numberAt))).toBeLessThan(50)
  })

  it('finds a run at the first number over the limit', () => {
    expect(undetected(range.map(numberAt))).toBe(LIMIT.max)
  })

  it('finds a run within one request and across requests', () => {
    const bulk = range.slice(0, 1_000).map(numberAt)
    expect(detector().check('w', bulk, 0)).toStrictEqual({ count: 11, prefix_length: 11 })
    const watch = detector()
    expect(watch.check('w', range.slice(0, 6).map(numberAt), 0)).toBeNull()
    expect(watch.check('w', range.slice(6, 11).map(numberAt), 1)).not.toBeNull()
  })

  it('does not find a run that takes longer than the window', () => {
    const numbers = range.slice(0, 100).map(numberAt)
    expect(undetected(numbers, { every_ms: 6_000 })).toBe(100)
    expect(undetected(numbers, { every_ms: 5_999 })).toBe(LIMIT.max)
  })

  it('does not find a run across workspaces', () => {
    const watch = detector()
    const found = range.map((n) => watch.check(`w${n % 500}`, [numberAt(n)], 0))
    expect(found.every((run) => run === null)).toBe(true)
  })

  it('finds a run again after forget()', () => {
    const watch = detector()
    const numbers = range.slice(0, 11).map(numberAt)
    expect(watch.check('w', numbers, 0)).not.toBeNull()
    watch.forget('w')
    expect(watch.check('w', [numberAt(11)], 0)).toBeNull()
    expect(watch.check('w', numbers, 0)).not.toBeNull()
  })
})

/** The length of the longest run: each number is at most `STEP_MAX` above the previous one. */
function longestRun(numbers: readonly number[]): number {
  const sorted = [...new Set(numbers)].toSorted((a, b) => a - b)
  let [run, longest] = [0, 0]
  for (const [i, number] of sorted.entries()) {
    const before = sorted[i - 1]
    run = before !== undefined && number - before <= STEP_MAX ? run + 1 : 1
    longest = Math.max(longest, run)
  }
  return longest
}

describe('numbers in any order and in any requests', () => {
  it('are found exactly if a run is too long', () => {
    const near = fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 40 })
    fc.assert(
      fc.property(near, fc.array(fc.boolean(), { maxLength: 40 }), (steps, cuts) => {
        const requests: number[][] = [[]]
        for (const [i, step] of steps.entries()) {
          if (cuts[i]) requests.push([])
          requests.at(-1)?.push(step)
        }
        const watch = detector()
        const found = requests.some((some) => watch.check('w', some.map(numberAt), 0) !== null)
        expect(found).toBe(longestRun(steps) > LIMIT.max)
      }),
      { numRuns: 1_000 },
    )
  })
})

/** `count` different numbers below `limit`, evenly distributed; numbers of fast-check tend to the bounds. */
function uniform(seed: number, count: number, limit: number): number[] {
  const drawn = new Set<number>()
  for (let i = 0; drawn.size < count; i++) {
    drawn.add(createHash('sha256').update(`${seed} ${i}`).digest().readUInt32BE() % limit)
  }
  return [...drawn]
}

describe('no run is found', () => {
  const seeds = fc.integer()
  const once = { numRuns: 30, seed: 5 }

  it('in random numbers of one country', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const numbers = uniform(seed, 1_000, 100_000_000).map(numberAt)
        expect(undetected(numbers)).toBe(1_000)
      }),
      once,
    )
  })

  it('in a sorted bulk to 500 customers in a range of 10,000 numbers', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const customers = uniform(seed, 500, 10_000).toSorted((a, b) => a - b)
        const numbers = customers.map(numberAt)
        expect(detector().check('w', numbers, 0)).toBeNull()
        expect(undetected(numbers)).toBe(500)
      }),
      once,
    )
  })

  it('in many sends to one number or to ten adjacent numbers', () => {
    const house = Array.from({ length: 5_000 }, (_, n) => numberAt(n % 10))
    expect(undetected(house)).toBe(5_000)
    expect(undetected(house.map(() => numberAt(1)))).toBe(5_000)
    expect(detector().check('w', house, 0)).toBeNull()
  })
})

describe('the memory of the detector', () => {
  const far = (n: number) => numberAt(n * 100)

  it('keeps the last 1,000 numbers of a workspace', () => {
    const rest = (between: number) => {
      const watch = detector()
      for (let n = 0; n < 10; n++) watch.check('w', [numberAt(n)], 0)
      watch.check(
        'w',
        Array.from({ length: between }, (_, n) => far(n + 1)),
        0,
      )
      return watch.check('w', [numberAt(10)], 0)
    }
    expect(rest(990)).not.toBeNull()
    expect(rest(991)).toBeNull()
  })

  it('keeps the 1,000 workspaces that sent last', () => {
    const rest = (between: number) => {
      const watch = detector()
      for (let n = 0; n < 10; n++) watch.check('w', [numberAt(n)], 0)
      for (let n = 0; n < between; n++) watch.check(`other${n}`, [numberAt(0)], 0)
      return watch.check('w', [numberAt(10)], 0)
    }
    expect(rest(999)).not.toBeNull()
    expect(rest(1_000)).toBeNull()
  })
})

describe('readSequenceLimit', () => {
  it('reads a limit', () => {
    expect(readSequenceLimit('10/60')).toStrictEqual(LIMIT)
    expect(readSequenceLimit('3/1')).toStrictEqual({ max: 3, window_s: 1 })
    expect(readSequenceLimit('100/86400')).toStrictEqual({ max: 100, window_s: 86_400 })
  })

  it.each(['10', '10/', '2/60', '101/60', '10/0', '10/86401', '-10/60', '10/60s'])(
    'throws for an invalid limit: %s',
    (text) => {
      expect(() => readSequenceLimit(text)).toThrow(
        `3 to 100 numbers/1 to 86400 seconds, for example 10/60, got "${text}"`,
      )
    },
  )
})
