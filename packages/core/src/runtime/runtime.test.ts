import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { idGenerator, systemRuntime } from './runtime.ts'

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const START_MS = Date.parse('2026-05-04T09:00:00.123Z')

/** Ids by a clock that reads `times`, one after the other, then stands still. */
function generate(times: readonly number[], count: number, byte = 0): string[] {
  let i = 0
  const now = () => new Date(times[Math.min(i++, times.length - 1)] as number)
  const id = idGenerator(now, (n) => Buffer.alloc(n, byte))
  return Array.from({ length: count }, id)
}

const msOf = (id: string) => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)

function expectIncreasing(ids: readonly string[]): void {
  for (const [i, id] of ids.entries()) {
    if (i > 0) expect(id > (ids[i - 1] as string)).toBe(true)
  }
}

describe('idGenerator', () => {
  it.each([0x00, 0xff, 0x5a])('makes a UUIDv7 from any random bytes (%d)', (byte) => {
    for (const id of generate([START_MS], 300, byte)) expect(id).toMatch(UUID_V7)
  })

  it('writes time, counter and random bits in the places of RFC 9562', () => {
    expect(generate([0x0123456789ab], 2, 0xff)).toEqual([
      '01234567-89ab-7000-bfff-ffffffffffff',
      '01234567-89ab-7001-bfff-ffffffffffff',
    ])
  })

  it('restarts the counter each millisecond', () => {
    const ids = generate([START_MS, START_MS, START_MS + 1, START_MS + 500], 4)
    expect(ids.map(msOf)).toEqual([START_MS, START_MS, START_MS + 1, START_MS + 500])
    expect(ids.map((id) => id.slice(15, 18))).toEqual(['000', '001', '000', '000'])
  })

  it('increases past the limit of the counter within a millisecond', () => {
    const ids = generate([START_MS], 10_000)
    expectIncreasing(ids)
    expect(msOf(ids[4_095] as string)).toBe(START_MS)
    expect(msOf(ids[4_096] as string)).toBe(START_MS + 1)
    expect(msOf(ids[9_999] as string)).toBe(START_MS + 2)
  })

  it('increases when the clock steps back, and follows it again later', () => {
    const hour = 3_600_000
    const ids = generate([START_MS, START_MS - hour, START_MS - 1, START_MS, START_MS + 1], 5)
    expectIncreasing(ids)
    expect(ids.map(msOf)).toEqual([START_MS, START_MS, START_MS, START_MS, START_MS + 1])
  })

  it('increases under any clock', () => {
    const jumps = fc.array(fc.integer({ min: -10_000, max: 10_000 }), { minLength: 2 })
    fc.assert(
      fc.property(jumps, (steps) => {
        let ms = START_MS
        const times = steps.map((step) => {
          ms += step
          return ms
        })
        expectIncreasing(generate(times, steps.length + 5))
      }),
    )
  })

  it('uses each random byte once', () => {
    let next = 0
    const bytes = (count: number) => {
      const buffer = Buffer.alloc(count)
      for (let at = 0; at < count; at += 4) buffer.writeUInt32BE(next++, at)
      return buffer
    }
    const id = idGenerator(() => new Date(START_MS), bytes)
    const tails = Array.from({ length: 2_000 }, () => id().slice(24))
    expect(new Set(tails).size).toBe(2_000)
  })
})

describe('systemRuntime', () => {
  it('returns the real time, increasing ids, random bytes and numbers', () => {
    const { now, elapsed, id, bytes, random, log } = systemRuntime()
    expect(Math.abs(now().getTime() - Date.now())).toBeLessThan(1_000)
    const before = elapsed()
    const ids = Array.from({ length: 5_000 }, id)
    expect(elapsed()).toBeGreaterThan(before)
    expectIncreasing(ids)
    expect(Math.abs(msOf(ids[0] as string) - Date.now())).toBeLessThan(10_000)
    for (const each of ids) expect(each).toMatch(UUID_V7)
    expect(bytes(32)).toHaveLength(32)
    expect(bytes(32).equals(bytes(32))).toBe(false)
    expect(random()).toBeLessThan(1)
    expect(() => log.error({}, 'silent unless a log is given')).not.toThrow()
  })

  it('gives each random byte once, in values of any length that do not change later', () => {
    const { bytes } = systemRuntime()
    const values = Array.from({ length: 2_000 }, (_, i) => bytes([16, 32, 24, 48][i % 4] as number))
    expect(values.map(({ length }) => length).slice(0, 4)).toEqual([16, 32, 24, 48])
    // Any eight bytes in succession, also over the end of a block.
    const texts = values.map((value) => value.toString('hex'))
    const beginnings = texts.map((text) => text.slice(0, 16))
    const ends = texts.map((text) => text.slice(-16))
    expect(new Set([...beginnings, ...ends]).size).toBe(4_000)
    expect(values.map((value) => value.toString('hex'))).toEqual(texts)
    expect(values.some((value) => value.equals(Buffer.alloc(value.length)))).toBe(false)
  })

  it('makes ids that differ between runtimes', () => {
    const [a, b] = [systemRuntime(), systemRuntime()]
    const ids = Array.from({ length: 2_000 }, () => [a.id(), b.id()]).flat()
    expect(new Set(ids).size).toBe(4_000)
  })
})
