import { beforeEach, describe, expect, it } from 'vitest'
import { createInFlight, type InFlight } from './in-flight.ts'

let elapsed_ms: number
let inFlight: InFlight

beforeEach(() => {
  elapsed_ms = 0
  inFlight = createInFlight({ max: 10, elapsed: () => elapsed_ms })
})

describe('messages in flight', () => {
  it('are not limited for a fast provider', () => {
    inFlight.began('a', 1_000)
    elapsed_ms = 4_999
    expect(inFlight.isFull('a', 1_000)).toBe(false)
  })

  it('are limited for a provider that does not answer, and for no other', () => {
    inFlight.began('a', 10)
    inFlight.began('b', 9)
    elapsed_ms = 5_000
    expect(inFlight.isFull('a')).toBe(true)
    expect(inFlight.isFull('b')).toBe(false)
    expect(inFlight.isFull('b', 1)).toBe(true)
    expect(inFlight.isFull('c', 10)).toBe(false)
  })

  it('stay limited after a slow call until a faster call', () => {
    const ended = inFlight.began('a', 10)
    elapsed_ms = 5_000
    ended()
    expect(inFlight.isFull('a')).toBe(false)
    expect(inFlight.isFull('a', 10)).toBe(true)
    inFlight.began('a', 1)()
    expect(inFlight.isFull('a', 10)).toBe(false)
  })

  it('are limited by the oldest call, even if later calls ended', () => {
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
