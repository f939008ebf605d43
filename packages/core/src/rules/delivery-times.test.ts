import { describe, expect, it } from 'vitest'
import {
  createTestPace,
  gateHostOf,
  gateOfAddress,
  hostAfter,
  nextAttempt,
  nextWaitMs,
} from './delivery-times.ts'

it('lets the first deliveries begin at once, then keeps the pace, also after the clock was set back', () => {
  let elapsed_ms = 0
  const pace = createTestPace(50, () => elapsed_ms)
  const noon = new Date('2026-11-28T12:00:00Z')
  const earlier = new Date('2026-11-28T11:00:00Z')
  const waitOf = (at: Date) => pace('w', at).getTime() - at.getTime()
  expect(Array.from({ length: 1_000 }, () => waitOf(noon))).toEqual(Array(1_000).fill(0))
  expect([waitOf(noon), waitOf(earlier)]).toEqual([20, 40])
  expect(pace('other', noon)).toEqual(noon)
  elapsed_ms = 10_000
  expect(waitOf(earlier)).toBe(0)
})

it('remembers the pace of ten thousand workspaces, and forgets the one unused for longest', () => {
  // A delivery takes 100 s of the pace, of which 20 s begin at once.
  const pace = createTestPace(0.01, () => 0)
  const waitOf = (workspaceId: string) => pace(workspaceId, NOW).getTime() - NOW.getTime()
  for (let i = 0; i < 10_000; i++) expect(waitOf(`w${i}`)).toBe(80_000)
  expect(waitOf('w0')).toBe(180_000)
  expect(waitOf('new')).toBe(80_000)
  expect(waitOf('w0')).toBe(280_000)
  expect(waitOf('w1')).toBe(80_000)
})

const NOW = new Date('2026-11-28T12:00:00Z')
const inMs = (ms: number) => new Date(NOW.getTime() + ms)
const DAY_MS = 24 * 3_600_000

describe('the wait after a failed try', () => {
  it.each([
    ['is the step of the schedule', 1, null, 0, 5_000],
    ['is at most a tenth longer by chance', 1, null, 1, 5_500],
    ['is as long as the receiver asks', 1, 60_000, 0, 60_000],
    ['is never shorter than the step', 1, 10, 0, 5_000],
    ['ignores a negative request', 0, -1_000, 0, 0],
    ['is at most a day', 1, 3 * DAY_MS, 0, DAY_MS],
    ['ends with the schedule', 12, null, 0, null],
  ])('%s', (_, attempt, requested_ms, chance, wait_ms) => {
    expect(nextWaitMs(attempt, requested_ms, () => chance)).toBe(wait_ms)
  })
})

describe('the next attempt', () => {
  it.each([
    ['has no time when none is left', null, 3, inMs(1), null, null],
    ['is due', NOW, 0, null, NOW, 'due'],
    ['is a retry', NOW, 1, null, NOW, 'retry'],
    ['waits as long as the receiver', NOW, 1, inMs(1), inMs(1), 'receiver_unavailable'],
    ['waits for its own time', inMs(5), 1, inMs(5), inMs(5), 'retry'],
    ['waits no more when the wait is over', inMs(-9), 1, NOW, inMs(-9), 'retry'],
  ])('%s', (_, at, attempt_count, waits_until, next_attempt_at, next_attempt_reason) => {
    const delivery = { next_attempt_at: at, attempt_count }
    expect(nextAttempt(delivery, { waits_until, now: NOW })).toEqual({
      next_attempt_at,
      next_attempt_reason,
    })
  })
})

describe('a gate', () => {
  it('has the name of the host, or the network of the address', () => {
    expect(gateHostOf('https://Receiver.example.:8443/hook')).toBe('receiver.example')
    expect(gateOfAddress('192.0.2.7')).toBe('192.0.2.7')
    expect(gateOfAddress('2001:db8:1:2:3::4')).toBe('2001:db8:1:2::/64')
    expect(gateOfAddress('')).toBeNull()
  })

  it.each([
    ['does not wait for the first failures', 3, -1, false, 4, 0],
    ['waits from the fifth failure in a row', 4, -1, false, 5, 30_000],
    ['waits longer after each', 5, -1, false, 6, 60_000],
    ['waits at most five minutes', 50, -1, false, 51, 300_000],
    ['is free after a success', 50, -1, true, 0, 0],
    ['remembers its failures for a day', 6, -DAY_MS, false, 7, 120_000],
    ['forgets them after a day without an attempt', 6, -DAY_MS - 1, false, 1, 0],
  ])('%s', (_, before, waited_ms, succeeded, failures, wait_ms) => {
    const host = { host: 'receiver.example', failures: before, held_until: inMs(9) }
    const after = hostAfter({ ...host, waits_until: inMs(waited_ms) }, { succeeded, at: NOW })
    const waits_until = inMs(wait_ms)
    expect(after).toEqual({ host: 'receiver.example', failures, held_until: null, waits_until })
  })

  it('only ends its hold when the result is not known', () => {
    const host = { host: 'receiver.example', failures: 6, waits_until: inMs(-7) }
    const held = { ...host, held_until: inMs(9) }
    const after = hostAfter(held, { succeeded: null, at: NOW })
    expect(after).toEqual({ ...host, held_until: null })
  })
})
