import { createHmac, randomUUID } from 'node:crypto'
import { BEGINNING_MS, JWT_SECRET } from './world.ts'

interface Forgery {
  claims: Record<string, unknown>
  header?: Record<string, unknown>
  secret?: string
  /** Node's name of the hash. */
  hash?: string
  /** In place of a signature with `secret`. */
  signature?: string
}

/** A JWT made by hand, so that refusals do not depend on a library. */
export function forgeToken(forgery: Forgery): string {
  const { claims, header = { alg: 'HS256', typ: 'JWT' }, secret = JWT_SECRET, hash } = forgery
  const input = `${encode(header)}.${encode(claims)}`
  const digest = createHmac(hash ?? 'sha256', secret)
    .update(input)
    .digest('base64url')
  return `${input}.${forgery.signature ?? digest}`
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

/** A token with the same claims except its id: as after another login. */
export function tokenOfAnotherLogin(token: string): string {
  const payload = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()
  return forgeToken({ claims: { ...JSON.parse(payload), jti: randomUUID() } })
}

const DAY_S = 24 * 60 * 60

/** The claims that the service puts into a token of this workspace at a world's start. */
export function claimsOf(workspaceId: string): {
  sub: string
  tv: number
  iat: number
  exp: number
} {
  const iat = BEGINNING_MS / 1000
  return { sub: workspaceId, tv: 1, iat, exp: iat + 30 * DAY_S }
}

/** A token that expired one second before a world's start. */
export function expiredToken(workspaceId: string): string {
  const claims = claimsOf(workspaceId)
  const exp = claims.iat - 1
  return forgeToken({ claims: { ...claims, iat: exp - 30 * DAY_S, exp } })
}

/** Tokens that must be refused, by their fault. */
export function forgedTokens(workspaceId: string): Record<string, string> {
  const claims = claimsOf(workspaceId)
  const { sub, tv, iat, exp } = claims
  const good = forgeToken({ claims })
  const [head = '', payload = '', signature = ''] = good.split('.')
  return {
    'another secret': forgeToken({ claims, secret: 'another secret of more than 32 bytes....' }),
    'an empty secret': forgeToken({ claims, secret: '' }),
    'alg none': forgeToken({ claims, header: { alg: 'none' }, signature: '' }),
    'alg none, signed': forgeToken({ claims, header: { alg: 'none' } }),
    'alg None': forgeToken({ claims, header: { alg: 'None', typ: 'JWT' }, signature: '' }),
    HS512: forgeToken({ claims, header: { alg: 'HS512', typ: 'JWT' }, hash: 'sha512' }),
    HS384: forgeToken({ claims, header: { alg: 'HS384', typ: 'JWT' }, hash: 'sha384' }),
    RS256: forgeToken({ claims, header: { alg: 'RS256', typ: 'JWT' } }),
    'no alg': forgeToken({ claims, header: { typ: 'JWT' } }),
    'no exp': forgeToken({ claims: { sub, tv, iat } }),
    'no iat': forgeToken({ claims: { sub, tv, exp } }),
    'no tv': forgeToken({ claims: { sub, iat, exp } }),
    'no sub': forgeToken({ claims: { tv, iat, exp } }),
    'an exp that is a text': forgeToken({ claims: { ...claims, exp: String(exp) } }),
    'an exp that is null': forgeToken({ claims: { ...claims, exp: null } }),
    'a tv that is a text': forgeToken({ claims: { ...claims, tv: '1' } }),
    'a sub that is a list': forgeToken({ claims: { ...claims, sub: [sub] } }),
    'the next tv': forgeToken({ claims: { ...claims, tv: 2 } }),
    'the tv before': forgeToken({ claims: { ...claims, tv: 0 } }),
    'a workspace that is not': forgeToken({
      claims: { ...claims, sub: '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01' },
    }),
    'a sub that is SQL': forgeToken({ claims: { ...claims, sub: "' or '1'='1" } }),
    'not yet valid': forgeToken({ claims: { ...claims, nbf: iat + 600 } }),
    'an unknown crit': forgeToken({ claims, header: { alg: 'HS256', crit: ['b64'], b64: false } }),
    'no signature': `${head}.${payload}.`,
    'two parts': `${head}.${payload}`,
    'a cut signature': good.slice(0, -1),
    'another payload': `${head}.${payload.slice(0, -2)}AA.${signature}`,
    'claims that are not JSON': `${head}.AAAA.${signature}`,
    nonsense: 'nonsense',
    'five parts': `${good}.a.b`,
    'half a megabyte of dots': '.'.repeat(10_000),
  }
}
