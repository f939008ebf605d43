import { beforeEach, describe, expect, it } from 'vitest'
import {
  isOpen,
  LIMIT_MAX,
  LIMIT_START,
  newReceiver,
  noteAnswer,
  probeNow,
  type Receiver,
  type ReceiverAnswer,
  roomOf,
} from './shares.ts'

const ok: ReceiverAnswer = { status: 200, error: null, retry_after_ms: null, duration_ms: 20 }
const timeout: ReceiverAnswer = { ...ok, status: null, error: 'timeout', duration_ms: 15_000 }

let receiver: Receiver
let at: number
beforeEach(() => {
  receiver = newReceiver('w1')
  at = 1_000_000
})

/** A round of attempts that begin together and end together. */
function round(answer: Partial<ReceiverAnswer>, count = Math.max(1, roomOf(receiver, at))): void {
  const began = at
  const is_probe = isOpen(receiver)
  receiver.in_flight += count
  at += answer.duration_ms ?? ok.duration_ms
  for (let i = 0; i < count; i++) {
    noteAnswer(receiver, { ...ok, ...answer }, { began, at, is_probe })
    receiver.in_flight -= 1
  }
}

describe('the limit of a receiver', () => {
  it('starts small and grows with each round up to the maximum', () => {
    expect(roomOf(receiver, at)).toBe(LIMIT_START)
    round({})
    expect(roomOf(receiver, at)).toBeGreaterThan(LIMIT_START)
    for (let i = 0; i < 20; i++) round({})
    expect(roomOf(receiver, at)).toBe(LIMIT_MAX)
  })

  it('does not grow while it is not used', () => {
    for (let i = 0; i < 100; i++) round({}, 1)
    expect(roomOf(receiver, at)).toBe(LIMIT_START)
  })

  it.each<[string, Partial<ReceiverAnswer>, number]>([
    ['a 429', { status: 429 }, 0.5],
    ['a time-out', timeout, 0.5],
    ['a 503', { status: 503 }, 0.5],
    ['an answer that took long', { duration_ms: 1_500 }, 0.75],
  ])('falls once for a round with %s, and rises slowly from then on', (_, answer, by) => {
    for (let i = 0; i < 20; i++) round({})
    round(answer, 4)
    expect(roomOf(receiver, at)).toBe(LIMIT_MAX * by)
    for (let i = 0; i < 10; i++) round({})
    expect(roomOf(receiver, at)).toBeGreaterThanOrEqual(LIMIT_MAX * by + 4)
    expect(roomOf(receiver, at)).toBeLessThanOrEqual(LIMIT_MAX * by + 11)
  })

  it.each([300, 302, 404, 405])(
    'does not grow with answers that acknowledge nothing: %i',
    (status) => {
      for (let i = 0; i < 20; i++) round({ status })
      expect(roomOf(receiver, at)).toBe(LIMIT_START)
      round({})
      expect(roomOf(receiver, at)).toBeGreaterThan(LIMIT_START)
    },
  )

  it('is at least 1', () => {
    for (let i = 0; i < 50; i++) round({ status: 429 })
    expect(roomOf(receiver, at)).toBe(1)
  })

  it('does not fall for 4xx answers', () => {
    for (const status of [400, 401, 404, 500]) round({ status }, 1)
    expect(roomOf(receiver, at)).toBe(LIMIT_START)
  })

  it('does not fall for answers that always take the same time', () => {
    for (let i = 0; i < 20; i++) round({ duration_ms: 3_000 })
    expect(roomOf(receiver, at)).toBe(LIMIT_MAX)
  })

  it('is smaller for a receiver that always takes long', () => {
    for (let i = 0; i < 40; i++) round({ duration_ms: 14_000 })
    expect(roomOf(receiver, at)).toBe(32)
  })
})

describe('one answer', () => {
  /** Notes an answer of an attempt that began now, with this many in flight. */
  function note(
    answer: Partial<ReceiverAnswer>,
    { in_flight = 8, began = at, is_probe = false } = {},
  ) {
    receiver.in_flight = in_flight
    noteAnswer(receiver, { ...ok, ...answer }, { began, at, is_probe })
    return receiver.limit
  }

  it('raises the limit if at least half of it is used, more slowly after it was lowered', () => {
    expect(note({}, { in_flight: 3 })).toBe(8)
    expect(note({}, { in_flight: 4 })).toBe(9)
    expect(note({ status: 299 })).toBe(10)
    expect(note({ status: 429 })).toBe(5)
    expect(note({})).toBe(5.2)
    expect(note({}, { in_flight: 2 })).toBe(5.2)
  })

  it.each([
    [20, 1_000, 1_001],
    [250, 1_000, 1_001],
    [500, 2_000, 2_001],
  ])('after one of %d ms, %d ms are not slow and %d ms are', (first, quick, slow) => {
    note({ duration_ms: first, status: 404 })
    expect(note({ duration_ms: quick, status: 404 })).toBe(8)
    note({ duration_ms: first, status: 404 })
    expect(note({ duration_ms: slow, status: 404 })).toBe(6)
    expect(receiver.has_answered).toBe(true)
  })

  it('counts as slow by the fastest of late', () => {
    note({ duration_ms: 500, status: 404 })
    // Each attempt raises the fastest duration by a thousandth.
    for (let i = 0; i < 3; i++) note({ duration_ms: 900, status: 404 })
    expect(receiver.fastest_ms).toBeCloseTo(500 * 1.001 ** 3, 6)
    expect(note({ duration_ms: 2_005, status: 404 })).toBe(8)
    note({ duration_ms: 100, status: 404 })
    expect(receiver.fastest_ms).toBe(100)
  })

  it('lowers the limit again if its attempt began when the limit was lowered, or later', () => {
    expect(note({ status: 429 })).toBe(4)
    expect(note({ status: 429 }, { began: at - 1 })).toBe(4)
    expect(note({ status: 429 }, { began: at })).toBe(2)
    expect(note({ status: 429 })).toBe(1)
    expect(note({ status: 429 })).toBe(1)
  })

  it.each([
    [5_000, 256],
    [5_001, 32],
  ])('of %d ms allows at most %d at once', (duration_ms, most) => {
    receiver.limit = most - 1
    const used = { in_flight: 200 }
    expect([note({ duration_ms }, used), note({ duration_ms }, used)]).toEqual([most, most])
  })

  it.each<[string, Partial<ReceiverAnswer>, number, number]>([
    ['a 500', { status: 500 }, 8, 1],
    ['a 502', { status: 502 }, 8, 1],
    ['a 503', { status: 503 }, 4, 1],
    ['no connection', { status: null, error: 'connect' }, 4, 1],
    ['a blocked target', { status: null, error: 'blocked_target' }, 8, 0],
    ['a 499', { status: 499 }, 8, 0],
  ])('that is %s leaves a limit of %3$d and %4$d failures', (_, answer, limit, failures) => {
    expect(note(answer)).toBe(limit)
    expect(receiver.failures).toBe(failures)
    expect(receiver.has_answered).toBe(failures === 0)
    expect(receiver.opened).toBe(0)
  })

  it('counts failures in a row, and ends them', () => {
    for (let i = 0; i < 4; i++) note({ status: 500 })
    expect(receiver.failures).toBe(4)
    note({ status: 404 })
    expect(receiver.failures).toBe(0)
    for (let i = 0; i < 5; i++) note({ status: 500 })
    expect(receiver).toMatchObject({ opened: 1, failures: 5, waits_until: at + 30_000, limit: 8 })
    // Only probes make the next wait longer.
    note(timeout)
    expect(receiver).toMatchObject({ opened: 1, failures: 6, waits_until: at + 30_000, limit: 8 })
    note(timeout, { is_probe: true })
    expect(receiver).toMatchObject({ opened: 2, failures: 7, waits_until: at + 60_000 })
  })

  it('asks to wait with a 429 or a 503 only, at most an hour, and for no less than before', () => {
    for (const status of [200, 404, 500]) note({ status, retry_after_ms: 60_000 })
    expect(receiver.waits_until).toBe(0)
    note({ status: 429 })
    expect(receiver.waits_until).toBe(0)
    note({ status: 503, retry_after_ms: 3_600_001 })
    expect(receiver.waits_until).toBe(at + 3_600_000)
    note({ status: 429, retry_after_ms: 60_000 })
    expect(receiver.waits_until).toBe(at + 3_600_000)
    // A probe's wait is no shorter either.
    for (let i = 0; i < 5; i++) note(timeout)
    expect(receiver).toMatchObject({ opened: 1, waits_until: at + 3_600_000 })
  })

  it.each([
    [{ status: 200 }, 0],
    [{ status: 429, retry_after_ms: 5_000 }, 30_000],
    [{ status: 429, retry_after_ms: 90_000 }, 90_000],
  ])('that is %j closes the breaker, and the receiver waits %d ms', (answer, wait_ms) => {
    receiver.limit = 100
    receiver.is_growing_fast = false
    for (let i = 0; i < 5; i++) note({ status: 500 })
    note(answer, { in_flight: 0 })
    expect(receiver).toMatchObject({ opened: 0, failures: 0, has_answered: true })
    expect(receiver.limit).toBe(answer.status === 429 ? 4 : 8)
    expect(receiver.is_growing_fast).toBe(answer.status !== 429)
    expect(receiver.waits_until).toBe(wait_ms === 0 ? 0 : at + wait_ms)
  })
})

describe('Retry-After', () => {
  it.each([429, 503])('pauses a receiver after a %d', (status) => {
    round({ status, retry_after_ms: 60_000 }, 1)
    expect(roomOf(receiver, at + 59_999)).toBe(0)
    expect(roomOf(receiver, at + 60_000)).toBeGreaterThan(0)
  })

  it('pauses a receiver for at most an hour', () => {
    round({ status: 429, retry_after_ms: 24 * 3_600_000 }, 1)
    expect(roomOf(receiver, at + 3_600_000)).toBeGreaterThan(0)
  })
})

describe('the breaker', () => {
  it.each<[string, Partial<ReceiverAnswer>]>([
    ['timeouts', timeout],
    ['failed connections', { status: null, error: 'connect' }],
    ['5xx', { status: 502 }],
  ])('opens after five %s in a row and probes at growing intervals', (_, answer) => {
    for (let i = 0; i < 4; i++) round(answer, 1)
    expect(isOpen(receiver)).toBe(false)
    round(answer, 1)
    for (const wait of [30_000, 60_000, 120_000, 300_000, 300_000]) {
      expect(isOpen(receiver)).toBe(true)
      expect(roomOf(receiver, at + wait - 1)).toBe(0)
      at += wait
      expect(roomOf(receiver, at)).toBe(1)
      round(answer, 1)
    }
  })

  it('stays closed if an answer comes between the failures', () => {
    for (let i = 0; i < 20; i++) {
      round(timeout, 4)
      round({ status: 404 }, 1)
    }
    expect(isOpen(receiver)).toBe(false)
  })

  it('does not wait longer when attempts fail that began before it opened', () => {
    round(timeout, 8)
    expect(roomOf(receiver, at + 30_000)).toBe(1)
  })

  it('allows one probe in flight', () => {
    round(timeout, 5)
    at += 30_000
    receiver.in_flight = 1
    expect(roomOf(receiver, at)).toBe(0)
  })

  it('probes at once after probeNow()', () => {
    round(timeout, 5)
    expect(roomOf(receiver, at)).toBe(0)
    probeNow(receiver)
    expect(roomOf(receiver, at)).toBe(1)
    round(timeout, 1)
    expect(roomOf(receiver, at)).toBe(0)
  })

  it('does not end a Retry-After by probeNow()', () => {
    round({ status: 429, retry_after_ms: 60_000 }, 1)
    probeNow(receiver)
    expect(roomOf(receiver, at)).toBe(0)
  })

  it.each([200, 404])('closes when a probe is answered %d', (status) => {
    round(timeout, 5)
    at += 30_000
    round({ status }, 1)
    expect(isOpen(receiver)).toBe(false)
    expect(roomOf(receiver, at)).toBeGreaterThanOrEqual(LIMIT_START)
  })

  it('never opens for a blocked target, whose attempts cost nothing', () => {
    round({ status: null, error: 'blocked_target' }, 20)
    expect(isOpen(receiver)).toBe(false)
  })
})
