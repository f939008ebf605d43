import { describe, expect, test } from 'vitest'
import { emailAddress, emailKey } from './email-address.ts'

const local64 = 'a'.repeat(64)
const label63 = 'b'.repeat(63)

describe('emailAddress', () => {
  test.each([
    ['asha@example.com', 'asha@example.com'],
    ['Asha.K+news@Example.COM', 'Asha.K+news@example.com'],
    ["o'brien!#$%&*/=?^_`{|}~-@example.co.tz", "o'brien!#$%&*/=?^_`{|}~-@example.co.tz"],
    ['a@b.co', 'a@b.co'],
    ['a@1.example', 'a@1.example'],
    ['a@xn--mnchen-3ya.de', 'a@xn--mnchen-3ya.de'],
    ['a@münchen.de', 'a@xn--mnchen-3ya.de'],
    ['a@MÜNCHEN.de', 'a@xn--mnchen-3ya.de'],
    [`${local64}@example.com`, `${local64}@example.com`],
    [`a@${label63}.com`, `a@${label63}.com`],
  ])('%s is sent to %s', (text, address) => {
    expect(emailAddress(text)).toEqual({ address, domain: address.slice(address.indexOf('@') + 1) })
  })

  test.each([
    '',
    '@',
    'a',
    'a@',
    '@b.co',
    'a@b',
    'a@b@c.co',
    '.a@b.co',
    'a.@b.co',
    'a..b@c.co',
    'a b@c.co',
    'a@b..co',
    'a@.b.co',
    'a@b.co.',
    'a@-b.co',
    'a@b-.co',
    'a@b_c.co',
    'a@b.123',
    'a@127.0.0.1',
    'a@[127.0.0.1]',
    '"a b"@c.co',
    'Asha <asha@example.com>',
    'asha@example.com, evil@example.com',
    'asha@example.com\r\nBcc: evil@example.com',
    'asha@example.com\n',
    ' asha@example.com',
    'a\u0000@b.co',
    'a@b\u0000.co',
    'asha@exam\u00adple.com',
    'asha@münchen\u200b.de',
    'a@m\u00fcn chen.de',
    'ä@example.com',
    `${local64}a@example.com`,
    `a@${label63}b.com`,
    `a@${`${label63}.`.repeat(4)}com`,
    `a@${'ü'.repeat(60)}.${'ü'.repeat(60)}.${'ü'.repeat(60)}.${'ü'.repeat(60)}.de`,
  ])('refuses %j', (text) => {
    expect(emailAddress(text)).toBeNull()
  })

  test('accepts 254 characters and refuses 255', () => {
    const tail = `.${label63}.${label63}.com`
    const fits = `${'a'.repeat(60)}@${'c'.repeat(254 - 61 - tail.length)}${tail}`
    expect(fits).toHaveLength(254)
    expect(emailAddress(fits)?.address).toBe(fits)
    expect(emailAddress(`a${fits}`)).toBeNull()
  })

  test('reads a hostile text in linear time', () => {
    // In quadratic time, each text takes hours.
    for (const text of ['a.'.repeat(1e6), `a@${'a-'.repeat(1e6)}`, '@'.repeat(1e6)]) {
      expect(emailAddress(text)).toBeNull()
    }
  })
})

describe('the key of an address', () => {
  test('is the same for all spellings of a mailbox', () => {
    expect(emailKey('Asha@münchen.de')).toBe('asha@xn--mnchen-3ya.de')
    expect(emailKey('asha@XN--MNCHEN-3YA.de')).toBe('asha@xn--mnchen-3ya.de')
    expect(emailKey('asha@example.com')).not.toBe(emailKey('asha+1@example.com'))
  })

  test('of a text that is not an address is the text in lower case', () => {
    expect(emailKey('+255700000001')).toBe('+255700000001')
    expect(emailKey('Support')).toBe('support')
  })
})
