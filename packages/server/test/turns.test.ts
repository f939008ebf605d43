import { setImmediate } from 'node:timers/promises'
import { afterEach, expect, it, vi } from 'vitest'
import { createTurns } from '../src/admission/gate.ts'

afterEach(() => void vi.useRealTimers())

it('starts 64 requests in a turn, the others later in their order', async () => {
  let now = 1_000
  const turns = createTurns({ now: () => now })
  const begun: number[] = []
  for (let i = 0; i < 200; i++) {
    const turn = turns.next()
    if (turn) turn.then(() => begun.push(i))
    else begun.push(i)
  }
  const numbers = (count: number) => Array.from({ length: count }, (_, i) => i)
  expect(begun).toStrictEqual(numbers(64))
  expect(turns.delay_ms).toBe(0)
  now = 1_300
  await setImmediate()
  expect(begun).toStrictEqual(numbers(128))
  expect(turns.delay_ms).toBe(300)
  // Later requests wait behind the others.
  turns.next()?.then(() => begun.push(200))
  now = 1_450
  await setImmediate()
  expect(begun).toStrictEqual(numbers(192))
  expect(turns.delay_ms).toBe(450)
  await setImmediate()
  expect(begun).toStrictEqual(numbers(201))
  await setImmediate()
  expect(turns.delay_ms).toBe(0)
  expect(turns.next()).toBeUndefined()
})

it('schedules no turn after one without requests', () => {
  vi.useFakeTimers()
  const turns = createTurns({ per_turn: 1 })
  turns.next()
  turns.next()
  for (let i = 0; i < 2; i++) {
    expect(vi.getTimerCount()).toBe(1)
    vi.runOnlyPendingTimers()
  }
  expect(vi.getTimerCount()).toBe(0)
})
