import { beforeEach, describe, expect, it } from 'vitest'
import { createInFlight, type InFlight } from './in-flight.ts'

let elapsed_ms: number
let inFlight: InFlight

beforeEach(() => {
  elapsed_ms = 0
  inFlight = createInFlight({ max: 10, elapsed: () => elapsed_ms })
})

describe('a provider', () => {
  it('that is not slow may be asked about any number', () => {
    inFlight.began('a', 1_000)
    elapsed_ms = 4_999
    expect(inFlight.isFull('a', 1_000)).toBe(false)
  })

  it('that does not answer is full, and no other one is', () => {
    inFlight.began('a', 10)
    inFlight.began('b', 9)
    elapsed_ms = 5_000
    expect(inFlight.isFull('a')).toBe(true)
    expect(inFlight.isFull('b')).toBe(false)
    expect(inFlight.isFull('b', 1)).toBe(true)
    expect(inFlight.isFull('c', 10)).toBe(false)
  })

  it('that was slow stays so until it answers sooner', () => {
    const ended = inFlight.began('a', 10)
    elapsed_ms = 5_000
    ended()
    expect(inFlight.isFull('a')).toBe(false)
    expect(inFlight.isFull('a', 10)).toBe(true)
    inFlight.began('a', 1)()
    expect(inFlight.isFull('a', 10)).toBe(false)
  })

  it('is slow by its oldest call, whichever ended meanwhile', () => {
    inFlight.began('a', 5)
    elapsed_ms = 4_000
    const second = inFlight.began('a', 5)
    inFlight.began('a', 5)
    elapsed_ms = 5_000
    second()
    second()
    expect(inFlight.isFull('a')).toBe(true)
  })
})
