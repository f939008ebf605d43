import { describe, expect, it } from 'vitest'
import { units } from '../contract/fields/units.ts'
import { statsOf } from './stats.ts'

describe('the conversion of a period', () => {
  const since = new Date('2026-05-04T09:00:00Z')
  const of = (country: string, sent: number, approved: number) => ({
    ...{ country, sent, approved, credits_used: units(0) },
  })

  it('is at most 1, also if codes of an earlier period were approved in it', () => {
    const { countries, total } = statsOf(since, [of('TZ', 2, 3), of('DE', 8, 2)])
    expect(countries.map(({ conversion }) => conversion)).toEqual([1, 0.25])
    expect(total).toMatchObject({ sent: 10, approved: 5, conversion: 0.5 })
    expect(statsOf(since, [of('TZ', 2, 3)]).total.conversion).toBe(1)
  })

  it('is not known without messages', () => {
    const { countries, total } = statsOf(since, [of('TZ', 0, 1)])
    expect([countries[0]?.conversion, total.conversion]).toEqual([null, null])
    expect(statsOf(since, []).total.conversion).toBeNull()
  })
})
