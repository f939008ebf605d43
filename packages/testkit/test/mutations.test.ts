import { Webhook as StandardWebhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { fixture } from '../src/fixture.ts'
import { verify } from '../src/index.ts'
import { forge, MUTATIONS, type Mutation } from '../src/mutations.ts'
import { sign } from '../src/sign.ts'
import { other, secret } from './secrets.ts'

const event = fixture('message.failed')
const names = Object.keys(MUTATIONS) as Mutation[]
const seenBy = (...who: string[]) => names.filter((name) => who.includes(MUTATIONS[name].seen_by))

const REASONS: Partial<Record<Mutation, string>> = {
  missing_signature: 'missing_signature',
  empty_signature: 'malformed_signature',
  truncated_signature: 'malformed_signature',
  uppercase_signature: 'malformed_signature',
  stale_timestamp: 'timestamp_too_old',
  future_timestamp: 'timestamp_too_new',
  wrong_event: 'event_mismatch',
}

describe('verify refuses', () => {
  it.each(names.filter((name) => name !== 'invalid_json'))('%s', (name) => {
    const { headers, body } = forge(event, name, { secret })
    const reason = REASONS[name] ?? 'signature_mismatch'
    expect(verify({ secret, headers, body })).toMatchObject({ ok: false, reason })
  })

  it.each(seenBy('any'))('%s, when only X-Svc-Signature is verified', (name) => {
    const { headers, body } = forge(event, name, { secret })
    const signature = headers['X-Svc-Signature']
    expect(verify({ secret, body, signature })).toMatchObject({ ok: false })
  })
})

it('keeps a valid X-Svc-Signature in mutations that only webhook-signature reveals', () => {
  for (const name of seenBy('standard', 'content')) {
    const { headers, body } = forge(event, name, { secret })
    const signature = headers['X-Svc-Signature']
    expect([name, verify({ secret, body, signature }).ok]).toEqual([name, true])
  }
})

it.each(seenBy('any', 'standard'))('standardwebhooks refuses %s', (name) => {
  const { headers, body } = forge(event, name, { secret })
  expect(() => new StandardWebhook(secret).verify(body.toString('utf8'), { ...headers })).toThrow()
})

it('signs the body that is not JSON correctly', () => {
  const { headers, body } = forge(event, 'invalid_json', { secret })
  expect(verify({ secret, headers, body })).toMatchObject({ ok: true })
  expect(() => JSON.parse(body.toString('utf8'))).toThrow(SyntaxError)
})

it('every mutation is refused with either secret of a rotation', () => {
  const at = new Date()
  const genuine = sign(event, { secret, previous_secret: other, at })
  for (const name of names) {
    const forged = forge(event, name, { secret, previous_secret: other, at })
    expect([name, forged.headers, forged.body]).not.toEqual([name, genuine.headers, genuine.body])
    expect(MUTATIONS[name].description).toMatch(/^[A-Z0-9].*\.$/)
  }
})

describe('verify explains', () => {
  const { headers, body } = sign(event, { secret })
  const text = body.toString('utf8')
  const hint = (more: object) => {
    const result = verify({ secret, headers, body, ...more })
    return result.ok ? 'accepted' : result.hint
  }

  it('a body that was parsed', () => {
    expect(hint({ body: JSON.parse(text) })).toMatch(/before any JSON parser/)
  })

  it('a body that was parsed and serialised again', () => {
    expect(hint({ body: JSON.stringify(JSON.parse(text), null, 2) })).toMatch(/printed again/)
    const pythonic = text.replaceAll('":', '": ').replaceAll(',"', ', "')
    expect(hint({ body: pythonic })).toMatch(/printed again/)
  })

  it('a line end after the body', () => {
    expect(hint({ body: `${text}\n` })).toMatch(/White space was added/)
  })

  it('a secret in another form', () => {
    expect(
      hint({ secret: `${secret}\n`, headers: { 'x-svc-signature': headers['X-Svc-Signature'] } }),
    ).toMatch(/white space around the secret/)
    const bare = secret.slice('whsec_'.length)
    expect(
      hint({ secret: bare, headers: { 'x-svc-signature': headers['X-Svc-Signature'] } }),
    ).toMatch(/whsec_ is part of it/)
  })

  it('an empty signature after sha256=', () => {
    expect(hint({ headers: undefined, signature: headers['X-Svc-Signature-256'] })).toBe('accepted')
  })
})
