import { expect, it } from 'vitest'
import { isOver } from './limit.ts'

const held = globalThis as { has_run?: boolean }

// It fails whenever it runs again in its process, with a mutant or without. So it notices none.
it('runs once', () => {
  expect(isOver(1, 1)).toBe(false)
  expect(held.has_run).toBeUndefined()
  held.has_run = true
})
