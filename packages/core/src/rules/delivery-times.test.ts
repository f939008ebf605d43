import { expect, it } from 'vitest'
import { createTestPace } from './delivery-times.ts'

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
