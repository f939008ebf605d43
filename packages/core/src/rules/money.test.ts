import { describe, expect, it } from 'vitest'
import { heldMinutes } from './money.ts'

describe('heldMinutes', () => {
  // The pace of speech is 14 letters or 4 syllables a second, the slowest voice takes a quarter more, and 5 s are for
  // the greeting: a minute has 43 s of text.
  it.each([
    ['', 1],
    ['x'.repeat(43 * 14), 1],
    ['x'.repeat(43 * 14 + 1), 2],
    ['x'.repeat(91 * 14), 2],
    ['x'.repeat(91 * 14 + 1), 3],
    ['語'.repeat(43 * 4), 1],
    ['語'.repeat(43 * 4 + 1), 2],
    [`${'語'.repeat(20 * 4)}${'x'.repeat(23 * 14)}`, 1],
    [`${'語'.repeat(20 * 4)}${'x'.repeat(23 * 14 + 1)}`, 2],
  ])('is the time that the slowest voice needs (case %#)', (text, minutes) => {
    expect(heldMinutes({ text })).toBe(minutes)
  })

  it('is three for a recording, whose length is unknown', () => {
    expect(heldMinutes({ audio_url: 'https://media.example/a.mp3' })).toBe(3)
  })
})
