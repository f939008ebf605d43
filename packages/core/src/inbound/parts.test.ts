import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isRepeated, isValidPart, joined, PART_REPEATED_MS } from './parts.ts'

const unitsOf = (text: string) => Buffer.from(text, 'utf16le').swap16().toString('hex')
const part = (number: number, units: string) => ({ number, units })

describe('parts of a text', () => {
  it('are joined in their order, in any order of arrival and with any cuts', () => {
    const cuts = fc.array(fc.nat(200), { maxLength: 6 })
    const text = fc.string({ unit: 'grapheme', maxLength: 60 })
    fc.assert(
      fc.property(text, cuts, fc.nat(), (text, cuts, turn) => {
        const at = [0, ...cuts.map((cut) => Math.min(cut, text.length)), text.length]
        at.sort((a, b) => a - b)
        const parts = at.slice(1).map((end, i) => part(i + 1, unitsOf(text.slice(at[i], end))))
        const turned = turn % parts.length
        const came = [...parts.slice(turned), ...parts.slice(0, turned)]
        expect(joined(came, parts.length)).toBe(text)
      }),
    )
  })

  it('wait for the last of them', () => {
    expect(joined([part(1, '0041'), part(3, '0043')], 3)).toBeNull()
    expect(joined([part(1, '0041'), part(3, '0043'), part(2, '')], 3)).toBe('AC')
  })

  it('join a character cut in two, and replace an incomplete one by U+FFFD', () => {
    expect(joined([part(1, '0041d83d'), part(2, 'de4f')], 2)).toBe('A🙏')
    expect(joined([part(1, 'd83d'), part(2, '0041')], 2)).toBe('\ufffdA')
  })

  it('are joined without the row that marks them as joined', () => {
    expect(joined([part(0, ''), part(1, '0041')], 1)).toBe('A')
  })

  it.each([
    [{ total: 0 }, false],
    [{ total: 255, number: 255 }, true],
    [{ total: 256 }, false],
    [{ number: 0 }, false],
    [{ number: 3 }, false],
    [{ number: 1.5 }, false],
    [{ reference: -1 }, false],
    [{ reference: 2 ** 31 }, false],
    [{ reference: 65_535 }, true],
    [{ units: '' }, true],
    [{ units: '00' }, false],
    [{ units: '00zz' }, false],
    [{ units: '0041'.repeat(1_024) }, true],
    [{ units: '0041'.repeat(1_025) }, false],
    [{}, true],
  ])('with %o are valid: %s', (fields, isValid) => {
    const whole = { reference: 7, total: 2, number: 1, units: '0041' }
    expect(isValidPart({ ...whole, ...fields })).toBe(isValid)
  })

  it('are repeated when the same part comes within an hour', () => {
    const at = (ms: number, units = '0041') => ({ units, created_at: new Date(ms) })
    expect(isRepeated(at(0), at(PART_REPEATED_MS - 1))).toBe(true)
    expect(isRepeated(at(0), at(PART_REPEATED_MS))).toBe(false)
    expect(isRepeated(at(0), at(1, '0042'))).toBe(false)
  })
})
