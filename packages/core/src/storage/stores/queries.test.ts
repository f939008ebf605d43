import { describe, expect, it } from 'vitest'
import { blocksOf, filledUp } from './queries.ts'

describe('blocksOf', () => {
  it.each([
    [0, []],
    [1, [1]],
    [63, [32, 16, 8, 4, 2, 1]],
    [64, [64]],
    [133, [64, 64, 4, 1]],
  ])('splits %i rows', (count, sizes) => {
    const rows = Array.from({ length: count }, (_, i) => i)
    const blocks = blocksOf(rows)
    expect(blocks.map(({ length }) => length)).toEqual(sizes)
    expect(blocks.flat()).toEqual(rows)
  })
})

describe('filledUp', () => {
  it.each([
    [[], []],
    [['a'], ['a']],
    [
      ['a', 'b', 'c'],
      ['a', 'b', 'c', 'c'],
    ],
    [
      ['a', 'b', 'a', 'b'],
      ['a', 'b'],
    ],
  ])('fills up %j', (values, filled) => {
    expect(filledUp(values)).toEqual(filled)
  })
})
