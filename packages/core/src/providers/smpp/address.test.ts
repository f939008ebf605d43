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
  ])('of type %i and digits %j is %j', (ton, digits, text) => {
    expect(textOfAddress({ ton, npi: 1, digits })).toBe(text)
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
