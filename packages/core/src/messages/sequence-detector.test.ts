import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readSequenceLimit } from './read-sequence-limit.ts'
import { createSequenceDetector, type SequenceDetector, STEP_MAX } from './sequence-detector.ts'

const LIMIT = { max: 10, window_s: 60 }
const detector = (): SequenceDetector => createSequenceDetector(LIMIT)

/** A premium range of a satellite network. */
const numberAt = (n: number) => `+8816${String(300_000_000 + n)}`

/** How many requests of one number each go by before the first run is found; all of them where there is none. */
function goneBy(numbers: readonly string[], { every_ms = 0 } = {}): number {
  const watch = detector()
  const found = numbers.findIndex((to, i) => watch.look('w', [to], i * every_ms) !== null)
  return found === -1 ? numbers.length : found
}

describe('an attack', () => {
  const range = Array.from({ length: 5_000 }, (_, n) => n)

  it.each([
    ['upwards', range],
    ['downwards', range.toReversed()],
    ['in steps of three', range.map((n) => n * STEP_MAX)],
    ['from the middle to both sides', range.map((n) => (n % 2 === 0 ? n : -n))],
    ['between others', range.flatMap((n) => [n, 100_000 + n * 1_000, 200_000_000 - n * 777])],
  ])('on 5,000 numbers in sequence is found before 50 sends: %s', (_, steps) => {
    expect(goneBy(steps.map(numberAt))).toBeLessThan(50)
  })

  it('is found by the number after the limit', () => {
    expect(goneBy(range.map(numberAt))).toBe(LIMIT.max)
  })

  it('is found whole within one request, and with what came before', () => {
    const bulk = range.slice(0, 1_000).map(numberAt)
    expect(detector().look('w', bulk, 0)).toStrictEqual({ count: 11, prefix_length: 11 })
    const watch = detector()
    expect(watch.look('w', range.slice(0, 6).map(numberAt), 0)).toBeNull()
    expect(watch.look('w', range.slice(6, 11).map(numberAt), 1)).not.toBeNull()
  })

  it('that takes longer than the window is not seen', () => {
    const numbers = range.slice(0, 100).map(numberAt)
    expect(goneBy(numbers, { every_ms: 6_000 })).toBe(100)
    expect(goneBy(numbers, { every_ms: 5_999 })).toBe(LIMIT.max)
  })

  it('of several workspaces together is not seen', () => {
    const watch = detector()
    const found = range.map((n) => watch.look(`w${n % 500}`, [numberAt(n)], 0))
    expect(found.every((run) => run === null)).toBe(true)
  })

  it('is told of anew once it was forgotten', () => {
    const watch = detector()
    const numbers = range.slice(0, 11).map(numberAt)
    expect(watch.look('w', numbers, 0)).not.toBeNull()
    watch.forget('w')
    expect(watch.look('w', [numberAt(11)], 0)).toBeNull()
    expect(watch.look('w', numbers, 0)).not.toBeNull()
  })
})

/** The longest row of numbers in which each is at most `STEP_MAX` above the one before. */
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

describe('in any order and in any requests', () => {
  it('a run is found when there is one too long, and only then', () => {
    const near = fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 40 })
    fc.assert(
      fc.property(near, fc.array(fc.boolean(), { maxLength: 40 }), (steps, cuts) => {
        const requests: number[][] = [[]]
        for (const [i, step] of steps.entries()) {
          if (cuts[i]) requests.push([])
          requests.at(-1)?.push(step)
        }
        const watch = detector()
        const found = requests.some((some) => watch.look('w', some.map(numberAt), 0) !== null)
        expect(found).toBe(longestRun(steps) > LIMIT.max)
      }),
      { numRuns: 1_000 },
    )
  })
})

/** So many different numbers below `limit`, each as likely as any other: fast-check's own lean to its bounds. */
function uniform(seed: number, count: number, limit: number): number[] {
  const drawn = new Set<number>()
  for (let i = 0; drawn.size < count; i++) {
    drawn.add(createHash('sha256').update(`${seed} ${i}`).digest().readUInt32BE() % limit)
  }
  return [...drawn]
}

describe('no alarm', () => {
  const seeds = fc.integer()
  const once = { numRuns: 30, seed: 5 }

  it('for random numbers of one country', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const numbers = uniform(seed, 1_000, 100_000_000).map(numberAt)
        expect(goneBy(numbers)).toBe(1_000)
      }),
      once,
    )
  })

  it('for a sorted bulk to customers, of whom there are 500 in a range of 10,000 numbers', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const customers = uniform(seed, 500, 10_000).toSorted((a, b) => a - b)
        const numbers = customers.map(numberAt)
        expect(detector().look('w', numbers, 0)).toBeNull()
        expect(goneBy(numbers)).toBe(500)
      }),
      once,
    )
  })

  it('for many sends to one number, or to the ten of one house', () => {
    const house = Array.from({ length: 5_000 }, (_, n) => numberAt(n % 10))
    expect(goneBy(house)).toBe(5_000)
    expect(goneBy(house.map(() => numberAt(1)))).toBe(5_000)
    expect(detector().look('w', house, 0)).toBeNull()
  })
})

describe('what is kept', () => {
  const far = (n: number) => numberAt(n * 100)

  it('of a workspace is its last 1,000 numbers', () => {
    const rest = (between: number) => {
      const watch = detector()
      for (let n = 0; n < 10; n++) watch.look('w', [numberAt(n)], 0)
      watch.look(
        'w',
        Array.from({ length: between }, (_, n) => far(n + 1)),
        0,
      )
      return watch.look('w', [numberAt(10)], 0)
    }
    expect(rest(990)).not.toBeNull()
    expect(rest(991)).toBeNull()
  })

  it('is of the 1,000 workspaces that wrote last', () => {
    const rest = (between: number) => {
      const watch = detector()
      for (let n = 0; n < 10; n++) watch.look('w', [numberAt(n)], 0)
      for (let n = 0; n < between; n++) watch.look(`other${n}`, [numberAt(0)], 0)
      return watch.look('w', [numberAt(10)], 0)
    }
    expect(rest(999)).not.toBeNull()
    expect(rest(1_000)).toBeNull()
  })
})

describe('a limit', () => {
  it('is read', () => {
    expect(readSequenceLimit('10/60')).toStrictEqual(LIMIT)
    expect(readSequenceLimit('3/1')).toStrictEqual({ max: 3, window_s: 1 })
    expect(readSequenceLimit('100/86400')).toStrictEqual({ max: 100, window_s: 86_400 })
  })

  it.each(['10', '10/', '2/60', '101/60', '10/0', '10/86401', '-10/60', '10/60s'])(
    'that cannot be is refused: %s',
    (text) => {
      expect(() => readSequenceLimit(text)).toThrow(
        `3 to 100 numbers/1 to 86400 seconds, for example 10/60, got "${text}"`,
      )
    },
  )
})
