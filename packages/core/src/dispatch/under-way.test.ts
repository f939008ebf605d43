import { beforeEach, describe, expect, it } from 'vitest'
import { createUnderWay, type UnderWay } from './under-way.ts'

let elapsed_ms: number
let underWay: UnderWay

beforeEach(() => {
  elapsed_ms = 0
  underWay = createUnderWay({ max: 10, elapsed: () => elapsed_ms })
})

describe('a provider', () => {
  it('that is not slow may be asked about any number', () => {
    underWay.began('a', 1_000)
    elapsed_ms = 4_999
    expect(underWay.isFull('a', 1_000)).toBe(false)
  })

  it('that does not answer is full, and no other one is', () => {
    underWay.began('a', 10)
    underWay.began('b', 9)
    elapsed_ms = 5_000
    expect(underWay.isFull('a')).toBe(true)
    expect(underWay.isFull('b')).toBe(false)
    expect(underWay.isFull('b', 1)).toBe(true)
    expect(underWay.isFull('c', 10)).toBe(false)
  })

  it('that was slow stays so until it answers sooner', () => {
    const ended = underWay.began('a', 10)
    elapsed_ms = 5_000
    ended()
    expect(underWay.isFull('a')).toBe(false)
    expect(underWay.isFull('a', 10)).toBe(true)
    underWay.began('a', 1)()
    expect(underWay.isFull('a', 10)).toBe(false)
  })

  it('is slow by its oldest call, whichever ended meanwhile', () => {
    underWay.began('a', 5)
    elapsed_ms = 4_000
    const second = underWay.began('a', 5)
    underWay.began('a', 5)
    elapsed_ms = 5_000
    second()
    second()
    expect(underWay.isFull('a')).toBe(true)
  })
})
