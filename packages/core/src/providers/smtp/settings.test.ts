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

const dkim = (more: object) => ({ dkim: { domain: 'mail.example', selector: 's', ...more } })

describe('the settings', () => {
  it('need a server and a domain, and have safe defaults', () => {
    expect(settings.parse(plain)).toEqual({
      ...plain,
      connections: 10,
      dsn: true,
      unsubscribe: true,
      resend_unknown: false,
    })
  })

  it.each([
    ['a domain in capitals, in lower case', { mail_domain: 'Mail.Example' }],
    ['a key to sign with', dkim({ private_key: keyOf('rsa') })],
    ['an intake', { intake: { port: 25 } }],
    ['one address for all workspaces', { from_local_part: 'hello' }],
  ])('accept %s', (_, more) => {
    expect(settings.safeParse({ ...plain, ...more }).success).toBe(true)
  })

  it.each([
    ['a domain of one label', { mail_domain: 'localhost' }],
    ['an address for a domain', { mail_domain: 'a@mail.example' }],
    ['a domain that is not ASCII', { mail_domain: 'bücher.example' }],
    ['a domain with a line break', { mail_domain: 'mail.example\r\n' }],
    ['a key that is too short', dkim({ private_key: keyOf('weak') })],
    ['a key that the library does not support', dkim({ private_key: keyOf('ec') })],
    ['a path in place of a key', dkim({ private_key: '/etc/dkim.pem' })],
    ['a selector that would end the tag', dkim({ private_key: keyOf('rsa'), selector: 's; d=x' })],
    ['an invalid local part', { from_local_part: 'a@b' }],
    ['a local part with a comma', { from_local_part: 'a,b' }],
    ['a malformed authority', { certificate_authority: 'x' }],
    ['no connection', { connections: 0 }],
    ['an unknown setting', { reqire_tls: false }],
  ])('refuse %s', (_, more) => {
    expect(settings.safeParse({ ...plain, ...more }).success).toBe(false)
  })

  it('report an invalid address without the password', () => {
    const url = 'smtp://svc:canary@mail.example?requireTLS=false'
    const { error } = settings.safeParse({ ...plain, url })
    expect(error?.issues[0]?.message).toMatch(/^must be smtp:/)
    expect(JSON.stringify(error)).not.toContain('canary')
  })
})

describe('the traits', () => {
  it('allow repetition only with that setting', () => {
    const traits = (more: object) => smtpType.traits(settings.parse({ ...plain, ...more }))
    expect(traits({})).toMatchObject({ channels: ['email'], idempotent: false, listens: false })
    expect(traits({ resend_unknown: true }).idempotent).toBe(true)
    expect(traits({ intake: { port: 25 } }).listens).toBe(true)
    expect(traits({ messages_per_second: 14 }).messages_per_second).toBe(14)
  })
})

describe('bounceDomain', () => {
  it('is that of the settings, or a subdomain with an intake', () => {
    const domain = (more: object) => bounceDomain(settings.parse({ ...plain, ...more }))
    expect(domain({})).toBeNull()
    expect(domain({ intake: { port: 25 } })).toBe('bounce.mail.example')
    expect(domain({ intake: { port: 25 }, bounce_domain: 'b.example' })).toBe('b.example')
    expect(domain({ bounce_domain: 'b.example' })).toBe('b.example')
  })
})
