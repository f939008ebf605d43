import { describe, expect, it } from 'vitest'
import { type Units, units } from '../contract/fields/units.ts'
import { forecastOf } from './forecast.ts'

const NOW = new Date('2026-05-20T12:00:00.000Z')
const DAY_MS = 86_400_000

function forecast(available: number, spent: readonly number[]) {
  return forecastOf({ available: units(available), spent: spent as Units[], now: NOW })
}

describe('forecastOf', () => {
  it('divides what is left by the mean of the complete days', () => {
    expect(forecast(90, [10, 20, 30])).toEqual({
      state: 'until',
      per_day: 20,
      days: 3,
      until: new Date(NOW.getTime() + 4.5 * DAY_MS),
    })
  })

  it('counts days without messages, and only the last 14', () => {
    expect(forecast(70, [1_000, ...Array(7).fill(0), ...Array(7).fill(10)])).toMatchObject({
      per_day: 5,
      days: 14,
      until: new Date(NOW.getTime() + 14 * DAY_MS),
    })
  })

  it.each([[[]], [[500]], [[500, 500]]])('says nothing with too few days: %j', (spent) => {
    expect(forecast(1_000, spent)).toEqual({ state: 'too_little_history', days: spent.length })
  })

  it('says nothing where nothing was spent, or more came back than went', () => {
    expect(forecast(1_000, [0, 0, 0])).toEqual({ state: 'no_spending', days: 3 })
    expect(forecast(1_000, [5, -10, 0])).toEqual({ state: 'no_spending', days: 3 })
  })

  it('says that nothing is left, also below zero', () => {
    for (const left of [0, -5]) {
      expect(forecast(left, [1, 1, 1])).toEqual({ state: 'empty', per_day: 1, days: 3 })
    }
  })

  it('names no date after a year', () => {
    expect(forecast(365, [1, 1, 1])).toMatchObject({ state: 'until' })
    expect(forecast(366, [1, 1, 1])).toEqual({ state: 'over_a_year', per_day: 1, days: 3 })
  })
})
