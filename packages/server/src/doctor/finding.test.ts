import { expect, it } from 'vitest'
import { counted } from './finding.ts'

it('shows exact counts of any size', () => {
  expect(counted(1, 'entry', 'entries')).toBe('1 entry')
  expect(counted(1_234_567, 'entry', 'entries')).toBe('1,234,567 entries')
})
