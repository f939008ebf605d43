import { describe, expect, test } from 'vitest'
import { destinationOf, ownSenderOf, sourceOf, textOfAddress } from './address.ts'
import { settings } from './settings.ts'

const { addresses } = settings.parse({
  type: 'smpp',
  name: 'carrier',
  binds: [{ host: 'smsc', system_id: 'a', password: 'b' }],
})

const E164 = { ton: 1, npi: 1 }
const SHORT = { ton: 3, npi: 0 }
const WORD = { ton: 5, npi: 0 }

describe('sourceOf', () => {
  test.each([
    [null, { ton: 0, npi: 0, digits: '' }],
    ['+14155550100', { ...E164, digits: '14155550100' }],
    ['14155550100', { ...E164, digits: '14155550100' }],
    ['12345', { ...SHORT, digits: '12345' }],
    ['12345678', { ...SHORT, digits: '12345678' }],
    ['123456789', { ...E164, digits: '123456789' }],
    ['SVC', { ...WORD, digits: 'SVC' }],
    ['My Shop 24h', { ...WORD, digits: 'My Shop 24h' }],
    ['A[b]', { ...WORD, digits: 'A[b]' }],
  ])('encodes the sender %j as %j', (sender, address) => {
    expect(sourceOf(sender, addresses)).toEqual(address)
  })

  test.each([
    'Twelve chars',
    '[[[[[[',
    'Café',
    'a`b',
    'a\0b',
    'a\nb',
    '',
    '+123456789012345678901',
  ])('refuses the sender %j', (sender) => {
    expect(sourceOf(sender, addresses)).toBeNull()
  })

  test('uses the types of the settings', () => {
    const own = { ...addresses, short_code: { ton: 6, npi: 9 } }
    expect(sourceOf('12345', own)).toEqual({ ton: 6, npi: 9, digits: '12345' })
  })
})

test('destinationOf encodes a recipient as international, without its plus sign', () => {
  expect(destinationOf('+447700900123', addresses)).toEqual({ ...E164, digits: '447700900123' })
  expect(destinationOf('recipient', addresses)).toBeNull()
})

describe('an incoming address', () => {
  test.each([
    [1, '447700900123', '+447700900123'],
    [1, '+447700900123', '+447700900123'],
    [0, '447700900123', '+447700900123'],
    [0, '07700900123', '07700900123'],
    [0, '12345', '12345'],
    [2, '7700900123', '7700900123'],
    [3, '12345', '12345'],
    [5, 'Bank', 'Bank'],
    [1, 'Bank', 'Bank'],
    [1, '00447700900123', '+447700900123'],
    [0, '00447700900123', '+447700900123'],
    [2, '00447700900123', '+447700900123'],
    [5, '00447700900123', '+447700900123'],
    [1, '+00447700900123', '+447700900123'],
    [0, '0012', '0012'],
    [0, '000000000000', '000000000000'],
    [1, '07700900123', '07700900123'],
    [1, '+07700900123', '07700900123'],
  ])('of type %i and digits %j is %j', (ton, digits, text) => {
    expect(textOfAddress({ ton, npi: 1, digits })).toBe(text)
  })

  test.each([
    ['GB', 0, '07700900123', '+447700900123'],
    ['GB', 1, '07700900123', '+447700900123'],
    ['GB', 2, '07700900123', '+447700900123'],
    ['GB', 2, '7700900123', '+447700900123'],
    ['GB', 0, '7911123456', '+447911123456'],
    ['GB', 0, '447700900123', '+447700900123'],
    ['GB', 2, '447700900123', '+447700900123'],
    ['GB', 0, '00447700900123', '+447700900123'],
    ['GB', 0, '004915112345678', '+4915112345678'],
    ['GB', 0, '4915112345678', '+4915112345678'],
    ['GB', 1, '14155552671', '+14155552671'],
    ['DE', 0, '015112345678', '+4915112345678'],
    ['DE', 2, '15112345678', '+4915112345678'],
    ['DE', 0, '4915112345678', '+4915112345678'],
    ['DE', 0, '436641234567', '+436641234567'],
    ['US', 0, '4155552671', '+14155552671'],
    ['US', 2, '4155552671', '+14155552671'],
    ['US', 0, '14155552671', '+14155552671'],
    ['US', 0, '011447700900123', '+447700900123'],
    ['US', 0, '00447700900123', '+447700900123'],
    ['AU', 0, '0011447911123456', '+447911123456'],
    ['NO', 0, '41234567', '+4741234567'],
    ['NO', 2, '41234567', '+4741234567'],
    ['IT', 0, '0612345678', '+390612345678'],
    // Short codes and names have no country.
    ['DE', 0, '12345', '12345'],
    ['DE', 2, '12345', '12345'],
    ['DE', 3, '12345678', '12345678'],
    ['DE', 5, 'Bank', 'Bank'],
    ['US', 0, '741741', '741741'],
    // No number of the country stays unchanged.
    ['US', 2, '0123456789', '0123456789'],
  ])('in %s, of type %i and digits %j, is %j', (country, ton, digits, text) => {
    expect(textOfAddress({ ton, npi: 1, digits }, country)).toBe(text)
  })

  test('is matched with a sender that has another form', () => {
    const senders = ['12345', '+447700900999', '491511234567']
    const to = (digits: string) => ownSenderOf({ ton: 0, npi: 1, digits }, senders, 'GB')
    expect(to('00447700900999')).toBe('+447700900999')
    expect(to('07700900999')).toBe('+447700900999')
    expect(to('00491511234567')).toBe('491511234567')
    expect(ownSenderOf({ ton: 2, npi: 1, digits: '12345' }, senders, 'DE')).toBe('12345')
  })

  test('is matched with the senders of the settings, whatever its type', () => {
    const senders = ['12345', '+447700900999', 'SVC']
    for (const ton of [0, 1, 2, 3]) {
      expect(ownSenderOf({ ton, npi: 0, digits: '12345' }, senders)).toBe('12345')
      expect(ownSenderOf({ ton, npi: 1, digits: '447700900999' }, senders)).toBe('+447700900999')
    }
    expect(ownSenderOf({ ton: 1, npi: 1, digits: '447700900111' }, senders)).toBe('+447700900111')
  })
})
