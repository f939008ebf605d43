import { expect, test } from 'vitest'
import { createReferences } from './references.ts'

test('counts up to 255 and round again, for each pair by itself', () => {
  const next = createReferences(() => 0)
  const numbers = Array.from({ length: 257 }, () => next('SVC', '+1'))
  expect(new Set(numbers.slice(0, 256)).size).toBe(256)
  expect(numbers[256]).toBe(numbers[0])
  expect(Math.max(...numbers)).toBe(255)
  expect(next('SVC', '+2')).toBe(1)
  expect(next(null, '+1')).toBe(1)
  expect(next('SVC', '+1')).toBe(((numbers[256] as number) + 1) % 256)
})

test('begins anywhere', () => {
  expect(createReferences(() => 0.999)('SVC', '+1')).toBe(0)
  expect(createReferences(() => 0.5)('SVC', '+1')).toBe(129)
})

test('forgets the pair that waited longest', () => {
  const next = createReferences(() => 0, 2)
  for (const recipient of ['+1', '+2', '+1', '+3']) next('SVC', recipient)
  expect(next('SVC', '+1')).toBe(3)
  expect(next('SVC', '+2')).toBe(1)
})
