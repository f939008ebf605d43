import { createHmac, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { mintSecret, type Signing, sign, signHex, type Verification, verify } from './signature.ts'

const secret = mintSecret(randomBytes)
const other = mintSecret(randomBytes)
const at = new Date('2026-05-04T09:30:00.900Z')
const body = '{"event":"message.delivered","data":{"message_id":"m1","text":"é😀"}}'
const signing: Signing = {
  secret,
  body,
  event: 'message.delivered',
  event_id: 'e1',
  delivery_id: 'd1',
  attempt: 2,
  at,
}
const headers = sign(signing)
const hexOnly = { 'x-svc-signature': headers['X-Svc-Signature'] }
const later = (seconds: number) => new Date(at.getTime() + seconds * 1000)

function check(more: Partial<Verification>) {
  return verify({ secret, body, headers, now: at, ...more })
}

describe('sign', () => {
  test('returns the eight headers of the contract', () => {
    expect(headers).toEqual({
      'X-Svc-Event': 'message.delivered',
      'X-Svc-Signature': expect.stringMatching(/^[0-9a-f]{64}$/),
      'X-Svc-Signature-256': `sha256=${headers['X-Svc-Signature']}`,
      'X-Svc-Delivery': 'd1',
      'X-Svc-Attempt': '2',
      'webhook-id': 'e1',
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/),
    })
  })

  test('gives bytes and text the same signature', () => {
    expect(sign({ ...signing, body: Buffer.from(body) })).toEqual(headers)
    expect(sign({ ...signing, body: new Uint8Array(Buffer.from(body)) })).toEqual(headers)
  })

  test('signs with both secrets while a rotation overlaps, with the first only in the single-value headers', () => {
    const both = sign({ ...signing, previous_secret: other })
    const old = sign({ ...signing, secret: other })
    expect(both['webhook-signature']).toBe(
      `${headers['webhook-signature']} ${old['webhook-signature']}`,
    )
    expect(both['X-Svc-Signature']).toBe(headers['X-Svc-Signature'])
  })

  test.each(['', 'whsec_'])('refuses the empty secret %j', (empty) => {
    expect(() => sign({ ...signing, secret: empty })).toThrow('A webhook secret is empty')
  })

  test('returns the signature of a known vector', () => {
    expect(signHex('key', 'The quick brown fox jumps over the lazy dog')).toBe(
      'f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8',
    )
  })
})

describe('a signature', () => {
  test('is verified by node:crypto, as in the specification', () => {
    const raw = Buffer.from(body)
    const digest = createHmac('sha256', secret).update(raw).digest('hex')
    expect(headers['X-Svc-Signature']).toBe(digest)
  })

  test('is verified by the standardwebhooks package', () => {
    const now = sign({ ...signing, at: new Date() })
    expect(new Webhook(secret).verify(body, now)).toEqual(JSON.parse(body))
    expect(() => new Webhook(other).verify(body, now)).toThrow('No matching signature found')
  })

  test('is verified by the standardwebhooks package with either secret of a rotation', () => {
    const both = sign({ ...signing, at: new Date(), previous_secret: other })
    expect(new Webhook(secret).verify(body, both)).toEqual(JSON.parse(body))
    expect(new Webhook(other).verify(body, both)).toEqual(JSON.parse(body))
  })

  test('of the standardwebhooks package is verified', () => {
    const webhook_signature = new Webhook(secret).sign('e1', at, body)
    const result = check({ headers: { ...headers, 'webhook-signature': webhook_signature } })
    expect(result).toMatchObject({ ok: true, scheme: 'standard' })
  })
})

describe('verify accepts', () => {
  const authentic = { ok: true, scheme: 'standard', secret_index: 0, event: 'message.delivered' }
  test.each<[string, Partial<Verification>, object]>([
    [
      'a delivery',
      {},
      { ...authentic, event_id: 'e1', timestamp: new Date('2026-05-04T09:30:00Z') },
    ],
    ['bytes', { body: Buffer.from(body) }, authentic],
    ['the headers of Fetch', { headers: new Headers(headers) }, authentic],
    ['the second of two secrets', { secret: [other, secret] }, { ok: true, secret_index: 1 }],
    ['five minutes of difference', { now: later(299) }, { ok: true }],
    ['any age without a tolerance', { now: later(1e6), tolerance_s: false }, { ok: true }],
    [
      'bare hex',
      { headers: hexOnly },
      { ok: true, scheme: 'hex', timestamp: null, event_id: null },
    ],
    [
      'bare hex without headers',
      { headers: undefined, signature: headers['X-Svc-Signature'] },
      { ok: true, scheme: 'hex' },
    ],
    [
      'no X-Svc-Event, because the body has the event',
      { headers: hexOnly },
      { event: 'message.delivered' },
    ],
    [
      'a body that is not an event',
      { body: 'text', headers: sign({ ...signing, body: 'text' }) },
      authentic,
    ],
    [
      'the form sha256=',
      { headers: undefined, signature: headers['X-Svc-Signature-256'] },
      { ok: true, scheme: 'hex' },
    ],
    [
      'X-Svc-Signature-256 alone',
      { headers: { 'X-Svc-Signature-256': headers['X-Svc-Signature-256'] } },
      { ok: true },
    ],
    [
      'a header that is a list',
      { headers: { 'x-svc-signature': [headers['X-Svc-Signature']] } },
      { ok: true },
    ],
    [
      'a signature of a known version next to unknown versions',
      { headers: { ...headers, 'webhook-signature': `v1a,xyz ${headers['webhook-signature']}` } },
      authentic,
    ],
  ])('%s', (_, more, expected) => {
    expect(check(more)).toMatchObject(expected)
  })
})

describe('verify refuses', () => {
  const without = (...names: string[]) =>
    Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)))
  const forged = sign({ ...signing, secret: other })
  const parsed = JSON.parse(body) as unknown as string
  test.each<[string, Partial<Verification>, string]>([
    ['an empty secret', { secret: '' }, 'secret_unusable'],
    ['no secret', { secret: [] }, 'secret_unusable'],
    ['an undefined secret', { secret: undefined as unknown as string }, 'secret_unusable'],
    ['one empty secret of two', { secret: [secret, ''] }, 'secret_unusable'],
    ['a secret of no bytes', { secret: 'whsec_' }, 'secret_unusable'],
    ['a parsed body', { body: parsed }, 'body_already_parsed'],
    ['no signature', { headers: {} }, 'missing_signature'],
    ['no headers at all', { headers: undefined }, 'missing_signature'],
    ['no id', { headers: without('webhook-id') }, 'missing_id'],
    ['no timestamp', { headers: without('webhook-timestamp') }, 'missing_timestamp'],
    [
      'a timestamp in words',
      { headers: { ...headers, 'webhook-timestamp': 'now' } },
      'malformed_timestamp',
    ],
    [
      'a negative timestamp',
      { headers: { ...headers, 'webhook-timestamp': '-1' } },
      'malformed_timestamp',
    ],
    [
      'the signature v1,',
      { headers: { ...headers, 'webhook-signature': 'v1,' } },
      'malformed_signature',
    ],
    [
      'an empty standard signature',
      { headers: { ...headers, 'webhook-signature': '' } },
      'malformed_signature',
    ],
    [
      'a cut standard signature',
      { headers: { ...headers, 'webhook-signature': headers['webhook-signature'].slice(0, 20) } },
      'malformed_signature',
    ],
    ['an empty hex signature', { headers: { 'x-svc-signature': '' } }, 'malformed_signature'],
    [
      'a cut hex signature',
      { headers: { 'x-svc-signature': headers['X-Svc-Signature'].slice(0, 8) } },
      'malformed_signature',
    ],
    [
      'upper-case hex',
      { headers: { 'x-svc-signature': headers['X-Svc-Signature'].toUpperCase() } },
      'malformed_signature',
    ],
    ['sha256= and nothing', { headers: { 'x-svc-signature': 'sha256=' } }, 'malformed_signature'],
    ['another secret', { secret: other }, 'signature_mismatch'],
    ['another secret, in hex', { secret: other, headers: hexOnly }, 'signature_mismatch'],
    ['a changed body', { body: body.replace('m1', 'm2') }, 'signature_mismatch'],
    [
      'a changed body, in hex',
      { body: body.replace('m1', 'm2'), headers: hexOnly },
      'signature_mismatch',
    ],
    ['a swapped id', { headers: { ...headers, 'webhook-id': 'e2' } }, 'signature_mismatch'],
    [
      'a newer timestamp',
      { headers: { ...headers, 'webhook-timestamp': '1800000000' } },
      'signature_mismatch',
    ],
    [
      'a forged webhook-signature next to a valid X-Svc-Signature',
      { headers: { ...headers, 'webhook-signature': forged['webhook-signature'] } },
      'signature_mismatch',
    ],
    ['an old delivery', { now: later(301) }, 'timestamp_too_old'],
    ['a delivery from the future', { now: later(-302) }, 'timestamp_too_new'],
    [
      'another event in the header than in the body',
      { headers: { ...headers, 'X-Svc-Event': 'message.failed' } },
      'event_mismatch',
    ],
    [
      'another event in the header than in the body, in hex',
      { headers: { ...hexOnly, 'x-svc-event': 'message.failed' } },
      'event_mismatch',
    ],
    ['any age with a tolerance of 0', { now: later(2), tolerance_s: 0 }, 'timestamp_too_old'],
  ])('%s', (_, more, reason) => {
    const result = check(more)
    expect(result).toMatchObject({ ok: false, reason, hint: expect.stringMatching(/\.|\?/) })
  })

  test.each<[string, Partial<Verification>, RegExp]>([
    ['white space around the secret', { secret: `${secret}\n` }, /white space around the secret/i],
    ['a line end after the body', { body: `${body}\n` }, /white space was added/i],
    [
      'a body printed with indents',
      { body: JSON.stringify(JSON.parse(body), null, 2) },
      /printed again/,
    ],
    ['a secret of another webhook', { secret: other }, /secret of this webhook/],
    ['a secret without its prefix', { secret: secret.slice('whsec_'.length) }, /whsec_ is part/],
  ])('%s, with a hint', (_, more, hint) => {
    const result = check({ headers: hexOnly, ...more })
    expect(result).toMatchObject({ ok: false, reason: 'signature_mismatch' })
    expect(result).toHaveProperty('hint', expect.stringMatching(hint))
  })

  test.each([undefined, 5, {}])('headers with the value %s', (none) => {
    const headers = { get: () => none } as unknown as Headers
    expect(check({ headers })).toMatchObject({ reason: 'missing_signature' })
    expect(check({ headers, signature: signHex(secret, body) })).toMatchObject({ ok: true })
  })
})

describe('mintSecret', () => {
  test('returns whsec_ and 32 bytes in base64', () => {
    expect(mintSecret((n) => Buffer.alloc(n, 7))).toBe(
      `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
    )
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    expect(secret).not.toBe(other)
  })
})

test('@svc/core/webhooks loads only node:crypto', () => {
  const sources = ['signature.ts', 'sign.ts', 'verdict.ts', 'verify.ts'].map((file) =>
    readFileSync(new URL(file, import.meta.url), 'utf8'),
  )
  const imported = sources.flatMap((source) => [...source.matchAll(/from '([^']+)'/g)])
  expect(new Set(imported.map(([, name]) => name))).toEqual(
    new Set(['node:crypto', './sign.ts', './verdict.ts', './verify.ts']),
  )
})
