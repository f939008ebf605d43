import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { GSM7_BASIC, GSM7_EXTENSION } from '../../sms/segments.ts'
import { decodeGsm7, decodeText, decodeUcs2, encodeGsm7, encodeUcs2 } from './charset.ts'

const CHARACTERS = [...GSM7_BASIC.replace('\x1b', ''), ...GSM7_EXTENSION.keys()]

describe('the GSM alphabet', () => {
  test('decodes any encoded text', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...CHARACTERS)), (characters) => {
        const text = characters.join('')
        expect(decodeGsm7(encodeGsm7(text))).toBe(text)
      }),
    )
  })

  test.each([
    ['@', '00'],
    ['A b', '412062'],
    ['€', '1b65'],
    ['[x]', '1b3c781b3e'],
    ['\f', '1b0a'],
    ['Δ', '10'],
    ['à', '7f'],
  ])('encodes %j as %s', (text, hex) => {
    expect(encodeGsm7(text).toString('hex')).toBe(hex)
  })

  test.each([
    ['1b', ' '],
    ['411b', 'A '],
    ['1b1b41', ' A'],
    ['1b41', 'A'],
    ['41ff', 'A\ufffd'],
  ])('decodes %s, which no text encodes to, as %j', (hex, text) => {
    expect(decodeGsm7(Buffer.from(hex, 'hex'))).toBe(text)
  })
})

describe('a national language', () => {
  test.each([
    ['Turkish, single shift', 0, 1, '1b671b691b49', 'ğıİ'],
    ['Turkish, locking shift', 1, 0, '0c0740', 'ğıİ'],
    ['Spanish, single shift', 0, 2, '1b611b6f5d', 'áóÑ'],
    ['Portuguese, both', 3, 3, '7b1b7c1b15', 'ãõΩ'],
    ['the default extension table beside a locking shift', 1, 0, '1b650c', '€ğ'],
    ['a code that the single shift lacks', 0, 1, '1b411b0d', 'A\r'],
    ['a code that both tables lack', 4, 4, '1b5b', '\ufffd'],
    ['a code that the locking shift lacks', 4, 0, '001181', 'ঁ\ufffd\ufffd'],
    ['a doubled and a final escape', 0, 1, '1b1b671b', ' g '],
    ['an unknown single shift', 0, 14, '411b6742', 'A\ufffdB'],
    ['an unknown locking shift', 14, 0, '41610a0d1b65', '\ufffd\ufffd\n\r€'],
    ['both unknown', 255, 255, '411b65', '\ufffd\ufffd'],
  ])('decodes %s', (_title, locking, single, hex, text) => {
    expect(decodeGsm7(Buffer.from(hex, 'hex'), { locking, single })).toBe(text)
  })

  test('changes the GSM alphabet alone', () => {
    const octets = Buffer.from('0067', 'hex')
    const turkish = { locking: 1, single: 1 }
    expect(decodeText(octets, 8, 'gsm', turkish)).toBe('g')
    expect(decodeText(octets, 0, 'latin1', turkish)).toBe('\0g')
    expect(decodeText(Buffer.from([0x60]), 0xd0, 'gsm', turkish)).toBe('ç')
  })
})

describe('UCS-2', () => {
  test('decodes any encoded units, also halves of surrogate pairs', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 0xffff })), (units) => {
        const text = String.fromCharCode(...units)
        expect(decodeUcs2(encodeUcs2(text))).toBe(text)
      }),
    )
  })

  test('is big-endian, and ignores half a unit at the end', () => {
    expect(encodeUcs2('я😀').toString('hex')).toBe('044fd83dde00')
    expect(decodeUcs2(Buffer.from('044fd8', 'hex'))).toBe('я')
  })

  test('does not change the octets', () => {
    const octets = Buffer.from('044f', 'hex')
    decodeUcs2(octets)
    expect(octets.toString('hex')).toBe('044f')
  })
})

describe('data_coding', () => {
  const octets = Buffer.from([0x40, 0xe9])
  test.each([
    ['gsm', 0, '¡\ufffd'],
    ['latin1', 0, '@é'],
    ['ascii', 0, '@\ufffd'],
    ['gsm', 1, '@\ufffd'],
    ['gsm', 3, '@é'],
    ['gsm', 6, '@щ'],
    ['gsm', 7, '@י'],
    ['gsm', 8, '䃩'],
    ['gsm', 0x10, '¡\ufffd'],
    ['gsm', 0x18, '䃩'],
    ['gsm', 0xf0, '¡\ufffd'],
    ['latin1', 0xf1, '@é'],
    ['gsm', 0x40, '¡\ufffd'],
    ['gsm', 0x48, '䃩'],
    ['gsm', 0x51, '¡\ufffd'],
    ['gsm', 0x5b, '䃩'],
    ['gsm', 0xc0, '¡\ufffd'],
    ['gsm', 0xcb, '¡\ufffd'],
    ['gsm', 0xd0, '¡\ufffd'],
    ['latin1', 0xdf, '@é'],
    ['gsm', 0xe0, '䃩'],
    ['gsm', 0xef, '䃩'],
    // Reserved codings are read in the default alphabet.
    ['gsm', 0x1c, '¡\ufffd'],
    ['gsm', 0x4c, '¡\ufffd'],
    ['gsm', 0x80, '¡\ufffd'],
    ['gsm', 0xbf, '¡\ufffd'],
  ] as const)('with the alphabet %s, %i decodes to %j', (alphabet, coding, text) => {
    expect(decodeText(octets, coding, alphabet)).toBe(text)
  })

  test.each([2, 4, 5, 9, 10, 0x14, 0x20, 0x28, 0x38, 0x44, 0x54, 0x60, 0x78, 0xf4, 0xff])(
    '%i is not a text',
    (coding) => {
      expect(decodeText(octets, coding, 'gsm')).toBeNull()
    },
  )
})
