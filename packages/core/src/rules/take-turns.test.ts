import { describe, expect, it } from 'vitest'
import { type InLine, partsOf, shareOf, takeTurns } from './take-turns.ts'

const line = (workspace_id: string, count: number, is_bulk = false, from = 0): InLine[] =>
  Array.from({ length: count }, (_, i) => ({
    message_id: `${workspace_id}${is_bulk ? '/' : ''}${from + i}`,
    workspace_id,
    is_bulk,
  }))
const ids = (rows: readonly InLine[]) => rows.map(({ message_id }) => message_id)

describe('partsOf', () => {
  it('gives half of a claim to the walk, and a claim of one row in turn', () => {
    expect([partsOf(64, false), partsOf(64, true)]).toEqual([
      { walked: 32, workspaces: 16 },
      { walked: 32, workspaces: 16 },
    ])
    expect([partsOf(1, false).walked, partsOf(1, true).walked]).toEqual([0, 1])
    expect([partsOf(3, false).walked, partsOf(3, true).walked]).toEqual([1, 2])
    expect(partsOf(1, true).workspaces).toBe(1)
  })

  it('divides the walk among the lines, at least one row each', () => {
    const parts = { walked: 32, workspaces: 16 }
    expect([0, 1, 3, 32, 40].map((lines) => shareOf(parts, lines))).toEqual([32, 32, 10, 1, 1])
  })
})

describe('takeTurns', () => {
  it('takes the oldest half and the turns of the lines, the first of each line first', () => {
    const walk = {
      rows: [...line('a', 2, true), ...line('b', 2), ...line('c', 1)],
      share: 2,
      is_whole: true,
    }
    const { taken } = takeTurns(line('a', 8, true), walk, { limit: 8, walked: 4 })
    expect(ids(taken)).toEqual(['b0', 'c0', 'a/0', 'b1', 'a/1', 'a/2', 'a/3', 'a/4'])
  })

  it('fills a claim with the oldest rows where the lines have fewer', () => {
    const walk = { rows: [...line('a', 4), ...line('b', 1)], share: 4, is_whole: true }
    const { taken } = takeTurns(line('a', 10), walk, { limit: 10, walked: 5 })
    expect(ids(taken)).toEqual(['a0', 'b0', ...ids(line('a', 8, false, 1))])
  })

  it('takes no more than the limit', () => {
    const walk = { rows: [...line('b', 1), ...line('b', 1, true)], share: 1, is_whole: false }
    const { taken } = takeTurns(line('a', 1), walk, { limit: 1, walked: 1 })
    expect(ids(taken)).toEqual(['b0'])
  })

  it('names the workspaces whose messages of no bulk may be left', () => {
    const walk = {
      rows: [...line('a', 2, true), ...line('b', 2), ...line('c', 1)],
      share: 2,
      is_whole: true,
    }
    const oldest = [...line('a', 6, true), ...line('d', 2)]
    const { left } = takeTurns(oldest, walk, { limit: 8, walked: 4 })
    // `b` may have more than its share; `d` is found, but not taken.
    expect(left).toEqual(new Set(['b', 'd']))
    const part = { ...walk, is_whole: false }
    expect(takeTurns(oldest, part, { limit: 8, walked: 4 }).left).toBeNull()
  })
})
