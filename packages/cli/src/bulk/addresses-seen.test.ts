import { expect, test } from 'vitest'
import { createAddressesSeen } from './addresses-seen.ts'

test('contains exactly the added addresses, also after it has grown and in a copy', () => {
  const seen = createAddressesSeen()
  for (let i = 0; i < 5_000; i++) seen.add(`+2557${i}`)
  const copy = seen.copy()
  copy.add('more')
  for (let i = 0; i < 5_000; i++) {
    expect(seen.has(`+2557${i}`) && copy.has(`+2557${i}`)).toBe(true)
    expect(seen.has(`+2558${i}`)).toBe(false)
  }
  expect([seen.has('more'), copy.has('more')]).toEqual([false, true])
})
