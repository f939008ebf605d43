import { describe, expect, it } from 'vitest'
import { base32, stepOfCode, totpCode } from './second-factor.ts'

const SECRET = Buffer.from('12345678901234567890')

describe('a code of an authenticator app', () => {
  // RFC 6238, appendix B, SHA-1; the last six of its eight digits.
  it.each([
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_111_111_111, '050471'],
    [1_234_567_890, '005924'],
    [2_000_000_000, '279037'],
    [20_000_000_000, '353130'],
  ])('of second %i is %s', (second, code) => {
    expect(totpCode(SECRET, Math.floor(second / 30))).toBe(code)
  })

  // RFC 4226, appendix D.
  it('is the HOTP value of its step', () => {
    const codes = Array.from({ length: 10 }, (_, step) => totpCode(SECRET, step))
    expect(codes.join()).toBe(
      '755224,287082,359152,969429,338314,254676,287922,162583,399871,520489',
    )
  })

  it('is taken one step early or late, once, and not after a later one', () => {
    const now = new Date(5 * 30_000)
    const steps = [3, 4, 5, 6, 7].map((step) =>
      stepOfCode(SECRET, totpCode(SECRET, step), { now, last: null }),
    )
    expect(steps).toEqual([null, 4, 5, 6, null])
    const later = [4, 5, 6].map((step) =>
      stepOfCode(SECRET, totpCode(SECRET, step), { now, last: 5 }),
    )
    expect(later).toEqual([null, null, 6])
  })
})

// RFC 4648, section 10.
it.each([
  ['f', 'MY'],
  ['foobar', 'MZXW6YTBOI'],
])('base32 of "%s" is %s', (text, encoded) => {
  expect(base32(Buffer.from(text))).toBe(encoded)
})
