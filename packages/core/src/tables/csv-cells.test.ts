import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { guarded, unguarded } from './columns.ts'

describe('guarded', () => {
  it.each([
    ['=1+1', "'=1+1"],
    ['+1+1', "'+1+1"],
    ['-1', "'-1"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['\t=1', "'\t=1"],
    ['\r=1', "'\r=1"],
    ['＝1', "'＝1"],
    ["'=1", "''=1"],
    [' =1', "' =1"],
    ['\u00a0 @SUM(A1)', "'\u00a0 @SUM(A1)"],
    ["' =1", "'' =1"],
    [' a', ' a'],
    ['+255700000001', '+255700000001'],
    ["o'hara", "o'hara"],
    ['a=1', 'a=1'],
    ['', ''],
  ])('%j is written as %j', (cell, written) => {
    expect(guarded(cell)).toBe(written)
  })

  it('is reversed by unguarded for every cell', () => {
    const character = fc.constantFrom("'", '=', '+', '-', '@', '\t', ' ', '1', 'a', '＝')
    fc.assert(
      fc.property(fc.string({ unit: character, maxLength: 6 }), (cell) => {
        expect(unguarded(guarded(cell))).toBe(cell)
      }),
      { seed: 20_260_504, numRuns: 2_000 },
    )
  })
})
