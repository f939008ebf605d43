import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { bounceDomain, settings } from './settings.ts'
import { smtpType } from './type.ts'

const plain = { type: 'smtp', name: 'smtp', url: 'smtp://127.0.0.1', mail_domain: 'mail.example' }

function keyOf(kind: 'rsa' | 'weak' | 'ec'): string {
  const { privateKey } =
    kind === 'ec'
      ? generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
      : generateKeyPairSync('rsa', { modulusLength: kind === 'rsa' ? 1024 : 768 })
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

const dkim = (given: object) => ({ dkim: { domain: 'mail.example', selector: 's', ...given } })

describe('settings', () => {
  it('need a server and a domain, and are safe for the rest', () => {
    expect(settings.parse(plain)).toEqual({
      ...plain,
      connections: 10,
      dsn: true,
      unsubscribe: true,
      resend_unknown: false,
    })
  })

  it.each([
    ['a domain in capitals, as it is written in the end', { mail_domain: 'Mail.Example' }],
    ['a key to sign with', dkim({ private_key: keyOf('rsa') })],
    ['an intake', { intake: { port: 25 } }],
    ['one address for all', { from_local_part: 'hello' }],
  ])('take %s', (_, given) => {
    expect(settings.safeParse({ ...plain, ...given }).success).toBe(true)
  })

  it.each([
    ['a domain of one label', { mail_domain: 'localhost' }],
    ['an address for a domain', { mail_domain: 'a@mail.example' }],
    ['a domain in letters of its own', { mail_domain: 'bücher.example' }],
    ['a domain with a line break', { mail_domain: 'mail.example\r\n' }],
    ['a key that is too short', dkim({ private_key: keyOf('weak') })],
    ['a key that the library cannot sign with', dkim({ private_key: keyOf('ec') })],
    ['a key that is none', dkim({ private_key: '/etc/dkim.pem' })],
    ['a selector that would end the tag', dkim({ private_key: keyOf('rsa'), selector: 's; d=x' })],
    ['a name that is no local part', { from_local_part: 'a@b' }],
    ['a name that would be a list', { from_local_part: 'a,b' }],
    ['an authority that is none', { certificate_authority: 'x' }],
    ['no connection', { connections: 0 }],
    ['what nobody knows', { reqire_tls: false }],
  ])('refuse %s', (_, given) => {
    expect(settings.safeParse({ ...plain, ...given }).success).toBe(false)
  })

  it('say what is wrong without the password', () => {
    const url = 'smtp://svc:canary@mail.example?requireTLS=false'
    const { error } = settings.safeParse({ ...plain, url })
    expect(error?.issues[0]?.message).toMatch(/^must be smtp:/)
    expect(JSON.stringify(error)).not.toContain('canary')
  })
})

describe('what follows from them', () => {
  it('is that repeating is safe only where the operator says so', () => {
    const traits = (given: object) => smtpType.traits(settings.parse({ ...plain, ...given }))
    expect(traits({})).toMatchObject({ channels: ['email'], idempotent: false, listens: false })
    expect(traits({ resend_unknown: true }).idempotent).toBe(true)
    expect(traits({ intake: { port: 25 } }).listens).toBe(true)
    expect(traits({ messages_per_second: 14 }).messages_per_second).toBe(14)
  })

  it('is where bounces go', () => {
    const domain = (given: object) => bounceDomain(settings.parse({ ...plain, ...given }))
    expect(domain({})).toBeNull()
    expect(domain({ intake: { port: 25 } })).toBe('bounce.mail.example')
    expect(domain({ intake: { port: 25 }, bounce_domain: 'b.example' })).toBe('b.example')
    expect(domain({ bounce_domain: 'b.example' })).toBe('b.example')
  })
})
