import { createHash } from 'node:crypto'
import twilio from 'twilio'
import { describe, expect, it } from 'vitest'
import type { CallbackRequest } from '../../contract/outside/provider.ts'
import { formOf, isSigned } from './signed-request.ts'

const TOKEN = '12345'
const URL_OF_FORM = 'https://svc.test/cb'

function isValid(
  signature: string | undefined,
  url: string,
  body: string | URLSearchParams,
  { is_json = false } = {},
): boolean {
  const type = is_json ? 'application/json' : 'application/x-www-form-urlencoded'
  const request: CallbackRequest = {
    method: 'POST',
    url,
    headers: { 'content-type': type, 'x-twilio-signature': signature },
    body: Buffer.from(String(body)),
  }
  return isSigned(request, formOf(request), TOKEN)
}

describe('isSigned', () => {
  // Sources: Twilio's documentation of signatures (the first case), and Twilio's package, version 6.2 (the others).
  it.each([
    [
      'https://mycompany.com/myapp.php?foo=1&bar=2',
      'CallSid=CA1234567890ABCDE&Caller=%2B14158675309&Digits=1234&From=%2B14158675309&To=%2B18005551212',
      'RSOYDt4T1cUTdK1PDd93/VVr8B8=',
    ],
    [URL_OF_FORM, 'A=2&B=x&A=1&A=2', 'SFa4C+GRdzLbgv6Xr0PwJxN+LKg='],
    [URL_OF_FORM, '', 'zM9qMAeIJ1CI/g7jali4cu5AL1Q='],
  ])('accepts the known signature of %s, %s', (url, form, signature) => {
    expect(isValid(signature, url, form)).toBe(true)
    expect(isValid(signature, `${url}x`, form)).toBe(false)
    expect(isValid(signature, url, `${form}&A=3`)).toBe(false)
  })

  it('covers a parameter of any name and every value of it', () => {
    const form = new URLSearchParams([
      ['__proto__', 'a'],
      ['constructor', ''],
      ['b', '2'],
      ['b', '1'],
      ['', '\u{1f600}\0'],
    ])
    const params = Object.fromEntries([...form.keys()].map((name) => [name, form.getAll(name)]))
    const signature = twilio.getExpectedTwilioSignature(TOKEN, URL_OF_FORM, params)
    expect(isValid(signature, URL_OF_FORM, form)).toBe(true)
    for (const name of Object.keys(params)) {
      const other = new URLSearchParams(form)
      other.set(name, 'changed')
      expect(isValid(signature, URL_OF_FORM, other)).toBe(false)
      other.delete(name)
      expect(isValid(signature, URL_OF_FORM, other)).toBe(false)
    }
  })

  it.each([
    ['https://svc.test/cb?a=1', 'https://svc.test:443/cb?a=1', true],
    ['https://svc.test:443/cb?a=1', 'https://svc.test/cb?a=1', true],
    ['https://svc.test:8443/cb?a=1', 'https://svc.test/cb?a=1', true],
    ['https://svc.test/cb?a=1', 'https://svc.test:8443/cb?a=1', false],
    ['http://svc.test/cb', 'http://svc.test:80/cb', true],
    ['http://svc.test/cb', 'http://svc.test:443/cb', false],
    ['http://[::1]:3000/cb', 'http://[::1]/cb', true],
    ['https://svc.test/cb?at=12:30', 'https://svc.test/cb?at=12', false],
  ])('%s, signed as %s: %s', (url, signed_url, expected) => {
    const signature = twilio.getExpectedTwilioSignature(TOKEN, signed_url, { Body: 'hi' })
    expect(isValid(signature, url, 'Body=hi')).toBe(expected)
  })

  it.each([undefined, '', 'x', 'zM9qMAeIJ1CI/g7jali4cu5AL1Q', 'zM9qMAeIJ1CI/g7jali4cu5AL1Q=='])(
    'refuses %s as a signature',
    (signature) => {
      expect(isValid(signature, URL_OF_FORM, '')).toBe(false)
    },
  )

  describe('of a body by its hash', () => {
    const text = '{"a":1}'
    const hash = createHash('sha256').update(text).digest('hex')
    const url = `https://svc.test/cb?bodySHA256=${hash}`
    const signature = 'k53hXEMhIXaQeuoDV7DyilvACdI='

    it('accepts that body', () => {
      expect(isValid(signature, url, text, { is_json: true })).toBe(true)
    })

    it('refuses another body', () => {
      expect(isValid(signature, url, '{"a":2}', { is_json: true })).toBe(false)
    })

    it('refuses JSON without a hash in the address', () => {
      const bare = twilio.getExpectedTwilioSignature(TOKEN, URL_OF_FORM, {})
      expect(isValid(bare, URL_OF_FORM, text, { is_json: true })).toBe(false)
    })
  })
})
