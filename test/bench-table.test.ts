import { describe, expect, it } from 'vitest'
import type { Figure } from '../proof/bench/figure.ts'
import { ROWS, type Row, tableOf, withFloor } from '../proof/bench/table.ts'

const accept: Row = {
  what: 'accept ÷ bare',
  bench: 'accept',
  figure: 'accept',
  unit: 'x',
  floor: 0.5,
  goal: 0.6,
}
const pages: Row = {
  what: 'first page',
  bench: 'lists',
  figure: /^lists, /,
  unit: 'times',
  floor: 2,
  goal: 1.2,
}

/** The cells of the one line of this row. */
function cellsOf(row: Row, result: Figure[] | Error): string[] {
  const lines = tableOf([row], new Map([[row.bench, result]])).split('\n')
  return (lines[2] ?? '').split('|').map((cell) => cell.trim())
}

function acceptOf(value: number): Figure {
  return { name: 'accept', value, unit: 'x', note: 'by CPU 0.55x' }
}

describe('the summary of the benches', () => {
  it.each([
    [0.6, 'goal'],
    [0.55, 'floor'],
    [0.49, 'MISSED'],
  ])('judges a ratio of speeds of %d as %s', (value, verdict) => {
    expect(cellsOf(accept, [acceptOf(value)])).toEqual([
      '',
      'accept ÷ bare',
      `${value}x`,
      '0.5x',
      '0.6x',
      verdict,
      'by CPU 0.55x',
      '',
    ])
  })

  it('shows the worst of several figures, of durations the longest', () => {
    const figures: Figure[] = [
      { name: 'lists, no filter', value: 1.1, unit: 'times' },
      { name: 'lists, status', value: 1.5, unit: 'times' },
      { name: 'lists, event loop', value: 40, unit: 'ms' },
    ]
    const [, , reached, , , verdict, note] = cellsOf(pages, figures)
    expect([reached, verdict, note]).toEqual([
      '1.5 times',
      'floor',
      'the worst of 2: lists, status',
    ])
  })

  it('says why a figure is missing and why a bench failed', () => {
    const missing: Figure = { ...acceptOf(Number.NaN), missing: 'Redis is not installed' }
    expect(cellsOf(accept, [missing]).slice(5, 7)).toEqual(['missing', 'Redis is not installed'])
    expect(cellsOf(accept, new Error('no port\nat x')).slice(5, 7)).toEqual(['failed', 'no port'])
  })

  it('has one line for each figure', () => {
    const names = ROWS.map(({ bench, figure, unit }) => `${bench} ${figure} ${unit}`)
    expect(new Set(names).size).toBe(ROWS.length)
  })

  it('gives a figure the floor of its line', () => {
    expect(withFloor(acceptOf(0.55)).floor).toBe(0.5)
  })
})
