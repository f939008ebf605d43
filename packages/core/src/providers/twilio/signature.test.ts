import { createHash } from 'node:crypto'
import fc from 'fast-check'
import twilio from 'twilio'
import { describe, expect, it } from 'vitest'
import { isSigned, paramsOf, signatureOf } from './signature.ts'

const { getExpectedTwilioSignature, validateRequest, validateRequestWithBody } = twilio
const NO_BODY = new Uint8Array()

describe('signatureOf', () => {
  const call = {
    CallSid: 'CA1234567890ABCDE',
    Caller: '+14158675309',
    Digits: '1234',
    From: '+14158675309',
    To: '+18005551212',
  }
  const repeated = new URLSearchParams('A=2&B=x&A=1&A=2')

  // Source: Twilio's documentation of its signatures; the others were made by its library, version 6.2.
  it.each([
    [
      'https://mycompany.com/myapp.php?foo=1&bar=2',
      new URLSearchParams(call),
      'RSOYDt4T1cUTdK1PDd93/VVr8B8=',
    ],
    ['https://svc.test/cb', repeated, 'SFa4C+GRdzLbgv6Xr0PwJxN+LKg='],
    ['https://svc.test/cb', new URLSearchParams(), 'zM9qMAeIJ1CI/g7jali4cu5AL1Q='],
  ])('%s, %s', (url, form, signature) => {
    expect(signatureOf('12345', url, paramsOf(form))).toBe(signature)
  })

  it('is what the library of Twilio makes of any form', () => {
    const name = fc.string({ minLength: 1, maxLength: 8 })
    const value = fc.string({ unit: 'binary', maxLength: 20 })
    fc.assert(
      fc.property(fc.array(fc.tuple(name, value), { maxLength: 12 }), fc.webUrl(), (pairs, url) => {
        const form = new URLSearchParams(pairs)
        const params = Object.fromEntries([...form.keys()].map((key) => [key, form.getAll(key)]))
        expect(signatureOf('12345', url, paramsOf(form))).toBe(
          getExpectedTwilioSignature('12345', url, params),
        )
      }),
      { numRuns: 50 },
    )
  })
})

describe('isSigned', () => {
  const params = paramsOf(new URLSearchParams('From=+1&Body=hi'))

  it.each([
    'https://svc.test/cb?a=1',
    'https://svc.test:443/cb?a=1',
    'https://svc.test:8443/cb?a=1',
    'http://svc.test/cb',
    'http://[::1]:3000/cb',
    'HTTPS://svc.test/cb?at=12:30',
  ])('agrees with the library on every form of the port: %s', (url) => {
    const others = [url, ...['', ':80', ':443', ':8443', ':3000'].map((port) => onPort(url, port))]
    const verdicts = others.map((signed_url) => {
      const signature = signatureOf('12345', signed_url, params)
      const ours = isSigned({ auth_token: '12345', signature, url, body: NO_BODY, params })
      expect(ours).toBe(validateRequest('12345', signature, url, Object.fromEntries(params)))
      return ours
    })
    expect(verdicts).toContain(true)
    expect(verdicts).toContain(false)
  })

  it.each([undefined, '', 'x', `${signatureOf('12345', 'https://svc.test/cb', params)}=`])(
    'refuses %s for a signature',
    (signature) => {
      const url = 'https://svc.test/cb'
      expect(isSigned({ auth_token: '12345', signature, url, body: NO_BODY, params })).toBe(false)
    },
  )

  describe('a body by its hash', () => {
    const text = '{"a":1}'
    const hash = createHash('sha256').update(text).digest('hex')
    const url = `https://svc.test/cb?bodySHA256=${hash}`
    const signature = 'k53hXEMhIXaQeuoDV7DyilvACdI='
    const given = { auth_token: '12345', signature, url, params: null }

    it('holds for that body, as the library says', () => {
      expect(validateRequestWithBody('12345', signature, url, text)).toBe(true)
      expect(isSigned({ ...given, body: Buffer.from(text) })).toBe(true)
    })

    it('does not hold for another', () => {
      expect(isSigned({ ...given, body: Buffer.from('{"a":2}') })).toBe(false)
    })

    it('is asked for where nothing else covers the body', () => {
      const bare = 'https://svc.test/cb'
      const bare_signature = signatureOf('12345', bare, new Map())
      const body = Buffer.from(text)
      expect(isSigned({ ...given, url: bare, signature: bare_signature, body })).toBe(false)
    })
  })
})

function onPort(url: string, port: string): string {
  return url.replace(/^(\w+:\/\/(?:\[[^\]]*\]|[^/:]*))(?::\d+)?/, `$1${port}`)
}
