import { setImmediate } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
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

describe('accepting connections', () => {
  function open() {
    let now = 1_000
    const turns = createTurns({ now: () => now })
    const begun: number[] = []
    return {
      turns,
      begun,
      ask(i: number) {
        const turn = turns.next()
        if (turn) turn.then(() => begun.push(i))
        else begun.push(i)
      },
      /** One turn of the event loop that accepted a connection. */
      async accept(ms: number) {
        turns.noteConnection()
        now += ms
        await setImmediate()
      },
    }
  }

  it('lets no request begin in a turn that accepted a connection, and all in the first other turn', async () => {
    const { turns, begun, ask, accept } = open()
    ask(0)
    for (let i = 1; i <= 40; i++) {
      turns.noteConnection()
      ask(i)
      await accept(1)
      expect(begun).toStrictEqual([0])
    }
    expect(turns.delay_ms).toBe(40)
    // A request that is read now begins behind those that wait.
    ask(41)
    await setImmediate()
    expect(begun).toHaveLength(42)
    expect(begun).toStrictEqual(begun.toSorted((a, b) => a - b))
  })

  it('lets 64 requests begin after each 50 ms, also while connections wait without an end', async () => {
    const { begun, ask, accept } = open()
    for (let i = 0; i < 200; i++) ask(i)
    const counts: number[] = []
    for (let turn = 0; turn < 15; turn++) {
      await accept(10)
      counts.push(begun.length)
    }
    expect(counts).toStrictEqual([
      64, 64, 64, 64, 128, 128, 128, 128, 128, 192, 192, 192, 192, 192, 200,
    ])
  })

  it('lets a request of a quiet service begin at once, also after a new connection', () => {
    const { turns } = open()
    turns.noteConnection()
    expect(turns.next()).toBeUndefined()
  })
})
