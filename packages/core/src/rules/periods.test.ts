import { describe, expect, it } from 'vitest'
import { dividedTime, HOUR_MS, type PartOfHour, type PeriodRange } from './count-changes.ts'

const at = (text: string) => new Date(`2026-05-${text}Z`)
const span = ({ from, before }: { from: Date | null; before: Date | null }) =>
  `${from?.toISOString().slice(8, -1) ?? ''} - ${before?.toISOString().slice(8, -1) ?? ''}`

function shown(range: { from?: Date; until?: Date }): string[] {
  const { periods, parts } = dividedTime(range)
  return [
    ...periods.map((period) => `${period.unit} ${span(period)}`),
    ...parts.map((part) => `part ${span(part)}`),
  ]
}

describe('dividedTime', () => {
  it('divides a time into days, the hours around them, and parts of hours', () => {
    expect(shown({ from: at('01T21:30:00'), until: at('04T02:00:00.250') })).toEqual([
      'hour 01T22:00:00.000 - 02T00:00:00.000',
      'day 02T00:00:00.000 - 04T00:00:00.000',
      'hour 04T00:00:00.000 - 04T02:00:00.000',
      'part 01T21:30:00.000 - 01T22:00:00.000',
      'part 04T02:00:00.000 - 04T02:00:00.251',
    ])
  })

  it('takes days alone where the bounds are those of days', () => {
    expect(shown({ from: at('01T00:00:00'), until: at('02T23:59:59.999') })).toEqual([
      'day 01T00:00:00.000 - 03T00:00:00.000',
    ])
  })

  it('has no bound where the time has none', () => {
    expect(shown({})).toEqual(['day  - '])
    expect(shown({ from: at('01T23:00:00') })).toEqual([
      'hour 01T23:00:00.000 - 02T00:00:00.000',
      'day 02T00:00:00.000 - ',
    ])
    expect(shown({ until: at('01T01:00:00') })).toEqual([
      'day  - 01T00:00:00.000',
      'hour 01T00:00:00.000 - 01T01:00:00.000',
      'part 01T01:00:00.000 - 01T01:00:00.001',
    ])
  })

  it('is one part within an hour, and nothing where the end is before the begin', () => {
    expect(shown({ from: at('01T09:10:00'), until: at('01T09:20:00') })).toEqual([
      'part 01T09:10:00.000 - 01T09:20:00.001',
    ])
    expect(shown({ from: at('01T09:10:00'), until: at('01T09:09:59.999') })).toEqual([])
  })

  it('covers each moment of the time once and no other', () => {
    const begin_ms = at('01T00:00:00').getTime()
    const bounds = [-1, 0, 1, HOUR_MS - 1, HOUR_MS, 5 * HOUR_MS + 7, 23 * HOUR_MS, 24 * HOUR_MS - 1]
      .flatMap((ms) => [ms, ms + 24 * HOUR_MS, ms + 72 * HOUR_MS])
      .map((ms) => new Date(begin_ms + ms))
    const covers = ({ from, before }: PeriodRange | PartOfHour, moment: Date) =>
      (!from || from <= moment) && (!before || moment < before)
    const wrong: string[] = []
    for (const from of [undefined, ...bounds]) {
      for (const until of [undefined, ...bounds]) {
        const { periods, parts } = dividedTime({ from, until })
        for (const moment of bounds) {
          const times = [...periods, ...parts].filter((one) => covers(one, moment)).length
          const isWithin = (!from || from <= moment) && (!until || moment <= until)
          if (times !== (isWithin ? 1 : 0)) wrong.push(`${from} - ${until}: ${moment} ${times}`)
        }
      }
    }
    expect(wrong).toEqual([])
  })
})
