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

  it.each([302, 404, 405])('does not grow with answers that acknowledge nothing: %i', (status) => {
    for (let i = 0; i < 20; i++) round({ status })
    expect(roomOf(receiver, at)).toBe(LIMIT_START)
    round({})
    expect(roomOf(receiver, at)).toBeGreaterThan(LIMIT_START)
  })

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
