import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { decode } from './decode.ts'
import { limit, page } from './paging.ts'

const query = z.object({ page, limit })

function refusalOf(value: unknown): string | undefined {
  try {
    decode(query, value)
  } catch (error) {
    return (error as Error).message
  }
  return undefined
}

describe('page and limit', () => {
  test('are numbers read from strings, with defaults', () => {
    expect(decode(query, {})).toEqual({ page: 1, limit: 50 })
    expect(decode(query, { page: '7', limit: '100' })).toEqual({ page: 7, limit: 100 })
    expect(query.encode({ page: 7, limit: 100 })).toEqual({ page: '7', limit: '100' })
  })

  test.each(['0', '101', '-1', '1.5', '1e1', '', ' 5', 'ten', ['5', '6'], 5, null])(
    'limit %j is refused',
    (value) => {
      expect(refusalOf({ limit: value })).toBe('Limit must be between 1 and 100')
    },
  )

  test.each(['0', '-1', 'x', '', '9'.repeat(13)])('page %j is refused', (value) => {
    expect(refusalOf({ page: value })).toBe('Page must be a positive integer')
  })
})
