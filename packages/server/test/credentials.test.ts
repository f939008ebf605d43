import { crc32 } from 'node:zlib'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Account } from './accounts.ts'
import { refusal } from './refusal.ts'
import { claimsOf, expiredToken, forgedTokens, forgeToken } from './tokens.ts'
import { useWorld } from './world.ts'

const world = useWorld({ trust_proxy: ['10.0.0.1'] })

let owner: Account
let key: string
beforeAll(async () => {
  owner = await world().signup({ credits: 10 })
  key = (await world().key(owner)).key
})

const account = (headers: Record<string, string>) =>
  world().call('GET', '/api/v1/account', { headers })
const messages = (headers: Record<string, string>, from?: string) =>
  world().call('GET', '/api/v1/messages', { headers, from })

describe('a session', () => {
  it('is recognized by a token with the claims of the contract, from any signer with the secret', async () => {
    const token = forgeToken({ claims: claimsOf(owner.id) })
    expect((await account({ authorization: `Bearer ${token}` })).status).toBe(200)
  })

  it.each(['bearer', 'BEARER', 'Bearer '])('accepts %j as its scheme', async (scheme) => {
    expect((await account({ authorization: `${scheme} ${owner.token}` })).status).toBe(200)
  })

  it.each(Object.keys(forgedTokens('cannot be forged with %s')))(
    'is not forged with %s',
    async (name) => {
      const token = forgedTokens(owner.id)[name]
      const { status, body } = await account({ authorization: `Bearer ${token}` })
      expect(status).toBe(401)
      expect(body).toStrictEqual(refusal('token_expired', 'Invalid or expired token'))
    },
  )

  it.each([
    '',
    'Bearer',
    'Bearer ',
    'Basic YTpi',
    'Token x',
    'TOKEN',
    'Bearer TOKEN x',
    'Bearer TOKEN,',
  ])('is not read from %j', async (value) => {
    const authorization = value.replace('TOKEN', owner.token)
    const { status, body } = await account({ authorization })
    expect(status).toBe(401)
    expect(body).toStrictEqual(refusal('token_expired', 'Invalid or expired token'))
  })

  it('reports an expired token only for a genuine one', async () => {
    const authorization = `Bearer ${expiredToken(owner.id)}`
    expect((await account({ authorization })).body).toStrictEqual(
      refusal('token_expired', 'Your session has expired. Please login again.'),
    )
    const cut = await account({ authorization: authorization.slice(0, -1) })
    expect(cut.body).toStrictEqual(refusal('token_expired', 'Invalid or expired token'))
  })

  it('is not read from the query or a cookie', async () => {
    const { token } = owner
    const answer = await world().call(
      'GET',
      `/api/v1/account?token=${token}&access_token=${token}`,
      {
        headers: { cookie: `token=${token}` },
      },
    )
    expect(answer.status).toBe(401)
  })
})

describe('an API key', () => {
  it.each([
    ['is cut', () => key.slice(0, -1)],
    ['is longer', () => `${key}0`],
    [
      'has a mistyped character',
      () => `${key.slice(0, 10)}${key[10] === 'a' ? 'b' : 'a'}${key.slice(11)}`,
    ],
    ['has a wrong checksum', () => `${key.slice(0, -6)}000000`],
    ['has another prefix', () => key.replace('svc_', 'sk_live_')],
    ['claims to be a test key', () => key.replace('svc_', 'svc_test_')],
    ['is in upper case', () => key.toUpperCase()],
    ['was never issued', () => neverIssued()],
    ['is present twice', () => `${key}, ${key}`],
    ['is empty', () => ''],
    ['is a bearer token', () => `Bearer ${key}`],
    ['is its own prefix', () => `${key.slice(0, 12)}...`],
    ['is SQL', () => "' or 1=1 --"],
  ])('is refused if it %s', async (_, made) => {
    const { status, body } = await messages({ 'x-api-key': made() })
    expect(status).toBe(401)
    expect(body).toStrictEqual(refusal('unauthorized', 'Invalid API key'))
  })

  it('is not read from the Authorization header, the query or a cookie', async () => {
    const { status, body } = await world().call('GET', `/api/v1/messages?api_key=${key}`, {
      headers: { authorization: `Bearer ${key}`, cookie: `x-api-key=${key}` },
    })
    expect(status).toBe(401)
    expect(body).toStrictEqual(refusal('unauthorized', 'Missing X-API-Key header'))
  })

  it('expires at its expiry time', async () => {
    const at = new Date(world().now().getTime() + 1_000).toISOString()
    const { key: short } = await world().key(owner, { expires_at: at })
    await world().advance(999)
    expect((await messages({ 'x-api-key': short })).status).toBe(200)
    await world().advance(1)
    const { status, body } = await messages({ 'x-api-key': short })
    expect(status).toBe(401)
    expect(body).toStrictEqual(refusal('unauthorized', 'Invalid API key'))
  })

  it.each([
    ['192.0.2.7', '192.0.2.7', true],
    ['192.0.2.0/24', '192.0.2.255', true],
    ['192.0.2.0/24', '192.0.3.0', false],
    ['192.0.2.0/24', '::ffff:192.0.2.1', true],
    ['2001:db8::/32', '2001:db8:ffff::1', true],
    ['2001:db8::/32', '2001:db9::1', false],
    ['::1', '0:0:0:0:0:0:0:1', true],
    ['0.0.0.0/0', '203.0.113.9', true],
    ['0.0.0.0/0', '2001:db8::1', false],
  ])('allowed from %s is used from %s: %s', async (network, from, isIn) => {
    const { key: bound } = await world().key(owner, { allowed_ips: [network] })
    const { status, body } = await messages({ 'x-api-key': bound }, from)
    expect(status).toBe(isIn ? 200 : 403)
    if (isIn) return
    const message = 'This API key may not be used from this address'
    expect(body).toStrictEqual(refusal('forbidden', message))
  })

  it('is not admitted by a forwarded address without a trusted proxy', async () => {
    const { key: bound } = await world().key(owner, { allowed_ips: ['192.0.2.7'] })
    const headers = { 'x-api-key': bound, 'x-forwarded-for': '192.0.2.7' }
    expect((await messages(headers, '203.0.113.9')).status).toBe(403)
    expect((await messages(headers, '10.0.0.1')).status).toBe(200)
    const spoofed = { ...headers, 'x-forwarded-for': '192.0.2.7, 203.0.113.9' }
    expect((await messages(spoofed, '10.0.0.1')).status).toBe(403)
    const garbage = { ...headers, 'x-forwarded-for': 'unknown' }
    expect((await messages(garbage, '10.0.0.1')).status).toBe(403)
  })
})

it('where an endpoint accepts both, the session is checked first', async () => {
  const { key: hooks } = await world().key(owner, { scopes: ['read_messages'] })
  const list = (token: string) => world().call('GET', '/api/v1/webhooks', { token, key: hooks })
  expect((await list(owner.token)).status).toBe(200)
  expect((await list('nonsense')).status).toBe(401)
})

/** A key with a valid checksum that was never issued. */
function neverIssued(): string {
  const body = `svc_${'Z'.repeat(32)}`
  const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  let rest = crc32(body)
  let digits = ''
  for (let i = 0; i < 6; i++) {
    digits = alphabet[rest % 62] + digits
    rest = Math.floor(rest / 62)
  }
  return body + digits
}
