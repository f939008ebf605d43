import { describe, expect, it } from 'vitest'
import { exampleOf, ruleWords } from '../console/pages/settings/quiet-words.ts'

const night = { category: 'marketing', start: '21:00', end: '08:00' } as const
const sunday = { category: 'marketing', start: '00:00', end: '24:00', days: ['sun'] } as const

describe('the words for quiet hours', () => {
  it.each([
    [night, 'Marketing messages wait from 21:00 to 08:00 on the next day, every day.'],
    [sunday, 'Marketing messages wait all day, on Sunday.'],
    [
      { ...night, days: ['fri', 'sat'] },
      'Marketing messages wait from 21:00 to 08:00 on the next day, beginning on Friday and Saturday.',
    ],
    [
      { category: 'transactional', start: '09:00', end: '17:30', days: ['mon', 'tue', 'wed'] },
      'Transactional messages wait from 09:00 to 17:30, on Monday to Wednesday.',
    ],
    [
      { ...night, start: '22:00', end: '00:00', days: ['mon', 'wed', 'fri'] },
      'Marketing messages wait from 22:00 to midnight, on Monday, Wednesday, and Friday.',
    ],
    [
      { ...night, start: '08:00', end: '08:00' },
      'Marketing messages wait from 08:00 to 08:00 on the next day, every day.',
    ],
  ])('say what %o does', (rule, words) => {
    expect(ruleWords(rule as never)).toBe(words)
  })

  it('have an example that follows all rules of the category', () => {
    const due = (rules: readonly object[]) => exampleOf(rules as never, 'marketing')
    expect(due([night])).toBe(
      'A marketing message that is due on Monday at 22:00 is sent on Tuesday at 08:00.',
    )
    expect(due([{ ...night, days: ['sat'] }, sunday, { ...night, days: ['sun'] }])).toBe(
      'A marketing message that is due on Saturday at 22:00 is sent on Monday at 08:00.',
    )
    expect(due([{ ...night, start: '12:00', end: '12:30', days: ['sun'] }])).toBe(
      'A marketing message that is due on Sunday at 12:15 is sent on Sunday at 12:30.',
    )
  })

  it('have no example without a rule, or where nothing is ever sent', () => {
    expect(exampleOf([night], 'transactional')).toBeNull()
    expect(exampleOf([{ ...night, start: '00:00', end: '00:00' }], 'marketing')).toBeNull()
    expect(exampleOf([{ ...night, end: '' }], 'marketing')).toBeNull()
  })
})
