import { afterEach, describe, expect, it, vi } from 'vitest'
import { levelsOf, marksOf } from '../console/parts/axes.ts'

afterEach(() => vi.unstubAllGlobals())

/** `length` times with a distance, from an instant on, in seconds. */
function times(from: string, length: number, distance_s: number): number[] {
  return Array.from({ length }, (_, i) => Date.parse(from) / 1000 + i * distance_s)
}

const HOUR_S = 3_600
const DAY_S = 24 * HOUR_S

/** As if the person had chosen UTC in this browser. */
function chooseUtc(): void {
  vi.stubGlobal('localStorage', { getItem: (name: string) => name === 'svc.time-zone' && 'UTC' })
}

describe('the levels of a chart', () => {
  it.each([
    [[], [0, 1, 2, 3, 4]],
    [
      [0, 1],
      [0, 1, 2, 3, 4],
    ],
    [[7], [0, 2, 4, 6, 8]],
    [
      [1340, 12],
      [0, 500, 1000, 1500],
    ],
    [[10], [0, 2, 4, 6, 8, 10]],
    [
      [-3, 4],
      [-4, -2, 0, 2, 4],
    ],
    [
      [0.5, 4.2],
      [0, 1, 2, 3, 4, 5],
    ],
  ])('of %j are %j', (values, levels) => {
    expect(levelsOf(values)).toEqual(levels)
  })

  it('include all values, and are few', () => {
    for (let exponent = 0; exponent < 12; exponent++) {
      for (const value of [1, 1.7, 2.4, 4.9, 9.9].map((n) => n * 10 ** exponent)) {
        const levels = levelsOf([value])
        expect(levels.at(-1)).toBeGreaterThanOrEqual(value)
        expect(levels.length).toBeLessThanOrEqual(6)
      }
    }
  })
})

describe('the labels of times', () => {
  it('are dates for days, at most seven', () => {
    chooseUtc()
    const marks = marksOf(times('2026-05-01T00:00:00Z', 30, DAY_S))
    expect(marks.map(([position]) => position)).toEqual([0, 5, 10, 15, 20, 25])
    expect(marks.slice(0, 2).map(([, text]) => text)).toEqual(['May 1', 'May 6'])
  })

  it('are round times of the day for hours, with the date at its start', () => {
    chooseUtc()
    expect(marksOf(times('2026-05-01T05:00:00Z', 48, HOUR_S))).toEqual([
      [7, '12:00'],
      [19, 'May 2'],
      [31, '12:00'],
      [43, 'May 3'],
    ])
  })

  it('are the days of a week of hours', () => {
    chooseUtc()
    const marks = marksOf(times('2026-05-01T05:00:00Z', 168, HOUR_S))
    expect(marks.map(([, text]) => text)).toEqual([
      'May 2',
      'May 3',
      'May 4',
      'May 5',
      'May 6',
      'May 7',
      'May 8',
    ])
  })

  it('are each some points where no time is round, and nothing without times', () => {
    chooseUtc()
    const marks = marksOf(times('2026-05-01T00:07:30Z', 28, HOUR_S))
    expect(marks.map(([position]) => position)).toEqual([0, 4, 8, 12, 16, 20, 24])
    expect(marks[0]?.[1]).toBe('00:07')
    expect(marksOf([])).toEqual([])
  })
})
