import { expect, it } from 'vitest'
import { isOver } from './limit.ts'

// Not at the limit itself.
it('is for amounts above the limit', () => {
  expect(isOver(2, 1)).toBe(true)
  expect(isOver(0, 1)).toBe(false)
})
