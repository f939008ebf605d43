import { expect, test } from 'vitest'
import { createUnusableNotes } from './intake.ts'

test('createUnusableNotes notes one line a minute, with the number of deliveries', () => {
  let now = 5
  const notes: object[] = []
  const unusable = createUnusableNotes(
    (fields) => void notes.push(fields),
    () => now,
  )
  unusable('first')
  for (let i = 0; i < 1_000; i += 1) unusable('flood')
  expect(notes).toEqual([{ reason: 'first', count: 1 }])
  now += 59_999
  unusable('still')
  expect(notes).toHaveLength(1)
  now += 1
  unusable('last')
  unusable('again')
  expect(notes.slice(1)).toEqual([{ reason: 'last', count: 1_002 }])
})
