import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createByteBudget } from './byte-budget.ts'

describe('a byte budget', () => {
  /** Reserves; `isReserved` says whether it has happened. */
  function asking(
    budget: ReturnType<typeof createByteBudget>,
    bytes: number,
    signal?: AbortSignal,
  ) {
    const state = { isReserved: false, release: () => {} }
    const reserving = budget.reserve(bytes, signal).then((release) => {
      Object.assign(state, { isReserved: true, release })
    })
    reserving.catch(() => {})
    return Object.assign(state, { reserving })
  }

  it('reserves in the order of the calls, and no more than its size', async () => {
    const budget = createByteBudget(10)
    const [a, b, c] = [asking(budget, 6), asking(budget, 6), asking(budget, 1)]
    await turn()
    expect([a, b, c].map((one) => one.isReserved)).toEqual([true, false, false])
    a.release()
    a.release()
    await turn()
    expect([b, c].map((one) => one.isReserved)).toEqual([true, true])
    const d = asking(budget, 4)
    await turn()
    expect(d.isReserved).toBe(false)
  })

  it('reserves more than its size alone', async () => {
    const budget = createByteBudget(10)
    const [a, b] = [asking(budget, 1), asking(budget, 100)]
    await turn()
    expect(b.isReserved).toBe(false)
    a.release()
    await turn()
    expect(b.isReserved).toBe(true)
  })

  it('forgets a caller that left, and lets the next in', async () => {
    const budget = createByteBudget(10)
    const left = new AbortController()
    const [, b, c] = [asking(budget, 6), asking(budget, 6, left.signal), asking(budget, 4)]
    await turn()
    expect(c.isReserved).toBe(false)
    left.abort(new Error('left'))
    await expect(b.reserving).rejects.toThrow('left')
    await turn()
    expect(c.isReserved).toBe(true)
  })
})
