import { expect, it } from 'vitest'
import { createWaiting } from './shares.ts'

const room = (room: number) => () => room
const took = (...entries: [string, number][]) => new Map(entries)

it('remembers what was queued until a claim takes less of it than it may', () => {
  const waiting = createWaiting()
  waiting.mark('a')
  waiting.beginClaim()(took(['a', 8]), false, room(8))
  expect(waiting.has('a')).toBe(true)
  waiting.beginClaim()(took(['a', 7]), false, room(8))
  expect(waiting.has('a')).toBe(false)
})

it('learns from a claim that took all it may', () => {
  const waiting = createWaiting()
  waiting.beginClaim()(took(['a', 8], ['b', 7]), false, room(8))
  expect([waiting.has('a'), waiting.has('b')]).toEqual([true, false])
})

it('learns nothing of the rest from a full claim, nor of what had no room', () => {
  const waiting = createWaiting()
  waiting.mark('a')
  waiting.beginClaim()(took(['b', 1]), true, room(8))
  expect(waiting.has('a')).toBe(true)
  waiting.beginClaim()(took(), false, room(0))
  expect(waiting.has('a')).toBe(true)
})

it('keeps what was queued while the claim ran', () => {
  const waiting = createWaiting()
  const note = waiting.beginClaim()
  waiting.mark('a')
  note(took(), false, room(8))
  expect(waiting.has('a')).toBe(true)
})
