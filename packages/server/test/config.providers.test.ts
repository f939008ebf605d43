import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { ConfigError, readConfig } from '../src/settings/config.ts'

const KEY = 'sk_test_51AbCdEf'
const SECRET = 'whsec_Zm9vYmFy'
const SID = `AC${'0a'.repeat(16)}`
const TOKEN = 'b1'.repeat(16)
const SMTP = 'smtps://svc:hunter2@mail.example.com:465'

const read = (env: NodeJS.ProcessEnv = {}) => {
  const { stripe, providers } = readConfig(env)
  return { stripe, providers }
}

function messageOf(env: NodeJS.ProcessEnv): string {
  try {
    read(env)
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    return (error as ConfigError).message
  }
  throw new Error(`accepted: ${JSON.stringify(env)}`)
}

describe('Stripe', () => {
  it.each(['sk_test_1', 'sk_live_1', 'rk_test_1', 'rk_live_1'])(
    'accepts a key that begins with %s',
    (key) => {
      const { stripe } = read({ STRIPE_SECRET_KEY: key, STRIPE_WEBHOOK_SECRET: SECRET })
      expect(stripe).toStrictEqual({ secret_key: key, webhook_secrets: [SECRET] })
    },
  )

  it('accepts several signing secrets while one is rolled', () => {
    const { stripe } = read({
      STRIPE_SECRET_KEY: KEY,
      STRIPE_WEBHOOK_SECRET: ` ${SECRET}, whsec_old ,`,
    })
    expect(stripe?.webhook_secrets).toStrictEqual([SECRET, 'whsec_old'])
  })

  it('treats empty and blank values as not set', () => {
    const env = { STRIPE_SECRET_KEY: '', STRIPE_WEBHOOK_SECRET: ' ', TWILIO_AUTH_TOKEN: '' }
    expect(read(env)).toStrictEqual({ stripe: null, providers: [] })
  })
})

describe('the address of the API of Stripe', () => {
  const set = { STRIPE_SECRET_KEY: KEY, STRIPE_WEBHOOK_SECRET: SECRET }

  it.each([
    'https://stripe.example',
    'http://127.0.0.1:12111',
    'http://localhost:1',
    'http://[::1]:1',
  ])('may be %s', (STRIPE_API_URL) => {
    expect(read({ ...set, STRIPE_API_URL }).stripe).toMatchObject({ api_url: STRIPE_API_URL })
  })

  it.each([
    'http://stripe.example',
    'https://stripe.example/v1',
    'stripe',
    'https://a:b@c.example',
  ])('may not be %s, where a third party could read the secret key', (STRIPE_API_URL) => {
    expect(messageOf({ ...set, STRIPE_API_URL })).toMatch(/^STRIPE_API_URL must be an https URL/)
  })

  it('needs a key', () => {
    expect(messageOf({ STRIPE_API_URL: 'https://stripe.example' })).toMatch(
      /^STRIPE_SECRET_KEY must be set too/,
    )
  })
})

describe('the error for an incomplete pair names the missing variable', () => {
  it.each([
    ['STRIPE_SECRET_KEY', KEY, 'STRIPE_WEBHOOK_SECRET'],
    ['STRIPE_WEBHOOK_SECRET', SECRET, 'STRIPE_SECRET_KEY'],
    ['TWILIO_ACCOUNT_SID', SID, 'TWILIO_AUTH_TOKEN'],
    ['TWILIO_AUTH_TOKEN', TOKEN, 'TWILIO_ACCOUNT_SID'],
    ['SVC_SMTP_URL', SMTP, 'SVC_MAIL_DOMAIN'],
    ['SVC_MAIL_DOMAIN', 'example.com', 'SVC_SMTP_URL'],
  ])('%s alone', (name, value, missing) => {
    expect(messageOf({ [name]: value })).toBe(
      `${missing} must be set too: ${name} alone is half a set`,
    )
  })
})

describe('the error for an invalid value names the variable, without the value', () => {
  it.each([
    ['STRIPE_SECRET_KEY', 'hunter2', 'for example sk_test_…'],
    ['STRIPE_SECRET_KEY', 'sk_hunter2', 'for example sk_test_…'],
    ['STRIPE_SECRET_KEY', 'sk_test_hunter2 and more', 'for example sk_test_…'],
    ['STRIPE_SECRET_KEY', 'pk_live_hunter2', 'got a publishable key (pk_…)'],
    ['STRIPE_SECRET_KEY', 'whsec_hunter2', 'belongs in STRIPE_WEBHOOK_SECRET'],
    ['STRIPE_WEBHOOK_SECRET', 'hunter2', '(whsec_…), or several'],
    ['STRIPE_WEBHOOK_SECRET', 'whsec_', '(whsec_…), or several'],
    ['STRIPE_WEBHOOK_SECRET', ',', '(whsec_…), or several'],
    ['STRIPE_WEBHOOK_SECRET', `${SECRET},hunter2`, '(whsec_…), or several'],
    ['STRIPE_WEBHOOK_SECRET', `${SECRET} whsec_hunter2`, '(whsec_…), or several'],
    ['STRIPE_WEBHOOK_SECRET', 'sk_live_hunter2', 'got an API key'],
    ['TWILIO_ACCOUNT_SID', 'hunter2', 'must be AC and 32 hex digits'],
    ['TWILIO_ACCOUNT_SID', `SK${'0a'.repeat(16)}`, 'must be AC and 32 hex digits'],
    ['TWILIO_AUTH_TOKEN', 'hunter2', 'must be 32 hex digits'],
    ['SVC_SMTP_URL', 'https://svc:hunter2@mail.example.com', 'must be smtp://'],
    ['SVC_SMTP_URL', 'mail.example.com:25', 'must be smtp://'],
    ['SVC_SMTP_URL', 'smtp://', 'must be smtp://'],
    ['SVC_MAIL_DOMAIN', 'hunter2', 'must be a domain, for example example.com'],
    ['SVC_MAIL_DOMAIN', 'ops@hunter2.example', 'must be a domain, for example example.com'],
    ['SVC_MAIL_DOMAIN', '-hunter2.example', 'must be a domain, for example example.com'],
  ])('%s=%s', (name, value, text) => {
    const whole = {
      STRIPE_SECRET_KEY: KEY,
      STRIPE_WEBHOOK_SECRET: SECRET,
      TWILIO_ACCOUNT_SID: SID,
      TWILIO_AUTH_TOKEN: TOKEN,
      TWILIO_SMS_FROM: '+15005550006',
      SVC_SMTP_URL: SMTP,
      SVC_MAIL_DOMAIN: 'example.com',
    }
    const message = messageOf({ ...whole, [name]: value })
    expect(message.startsWith(`${name} must be `)).toBe(true)
    expect(message).toContain(text)
    expect(message).not.toContain('hunter2')
  })
})

const folder = mkdtempSync(join(tmpdir(), 'svc-config-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Writes a file with this text; returns its path. */
function fileOf(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const twilio = { TWILIO_ACCOUNT_SID: SID, TWILIO_AUTH_TOKEN: TOKEN }
const mail = { SVC_SMTP_URL: SMTP, SVC_MAIL_DOMAIN: 'example.com' }
const gateway = {
  type: 'http',
  name: 'gateway',
  channels: ['sms'],
  auth: { type: 'bearer', token: 'hunter2' },
  send: { url: 'https://gateway.example/send', body: { text: '{{text}}' } },
}

describe('Twilio', () => {
  it('is a provider with the listed senders, in their order', () => {
    const { providers } = read({
      ...twilio,
      TWILIO_SMS_FROM: '+15005550006, +15005550007 ,',
      TWILIO_VOICE_FROM: '+15005550006',
    })
    expect(providers).toMatchObject([
      {
        name: 'twilio',
        type: 'twilio',
        account_sid: SID,
        auth_token: TOKEN,
        senders: { sms: ['+15005550006', '+15005550007'], voice: ['+15005550006'] },
      },
    ])
    expect(providers[0]).not.toHaveProperty('senders.whatsapp')
  })

  it('needs a number to send from', () => {
    expect(messageOf(twilio)).toMatch(/^TWILIO_SMS_FROM, .* must be set too/)
  })

  it('needs an account for its numbers', () => {
    expect(messageOf({ TWILIO_WHATSAPP_FROM: '+15005550006' })).toBe(
      'TWILIO_ACCOUNT_SID must be set too: TWILIO_WHATSAPP_FROM alone is half a set',
    )
  })

  it('is refused for an invalid number, without the number in the error', () => {
    const message = messageOf({ ...twilio, TWILIO_SMS_FROM: ' , ' })
    expect(message).toMatch(/^TWILIO_\*: provider twilio: /)
    expect(message).not.toContain(TOKEN)
  })
})

describe('a mail server', () => {
  it('is a provider for its domain', () => {
    expect(read(mail).providers).toMatchObject([
      { name: 'smtp', type: 'smtp', url: SMTP, mail_domain: 'example.com' },
    ])
  })

  it.each([
    ['2525', { host: '127.0.0.1', port: 2525 }],
    ['127.0.0.1:2525', { host: '127.0.0.1', port: 2525 }],
    ['[::1]:2525', { host: '::1', port: 2525 }],
  ])('receives bounces at %s', (SVC_MAIL_INTAKE, intake) => {
    expect(read({ ...mail, SVC_MAIL_INTAKE }).providers).toMatchObject([{ intake }])
  })

  it.each(['mail', '0.0.0.0:', '70000', 'a:b', ':25'])(
    'refuses %s as the address for bounces',
    (text) => {
      expect(messageOf({ ...mail, SVC_MAIL_INTAKE: text })).toBe(
        'SVC_MAIL_INTAKE must be a port or host:port, for example 0.0.0.0:2525',
      )
    },
  )

  it.each([
    ['SVC_MAIL_INTAKE', { SVC_MAIL_INTAKE: '2525' }],
    ['SVC_DKIM_SELECTOR', { SVC_DKIM_SELECTOR: 's1', SVC_DKIM_KEY_FILE: 'key.pem' }],
  ])('is required by %s', (name, env) => {
    expect(messageOf(env)).toBe(`SVC_SMTP_URL must be set too: ${name} alone is half a set`)
  })

  it('signs with the key of a file', () => {
    const { privateKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    })
    const SVC_DKIM_KEY_FILE = fileOf('dkim.pem', privateKey)
    const { providers } = read({ ...mail, SVC_DKIM_SELECTOR: 's1', SVC_DKIM_KEY_FILE })
    expect(providers).toMatchObject([{ dkim: { domain: 'example.com', selector: 's1' } }])
  })

  it('is refused for an invalid or missing key', () => {
    const signing = { ...mail, SVC_DKIM_SELECTOR: 's1' }
    const gone = messageOf({ ...signing, SVC_DKIM_KEY_FILE: join(folder, 'gone.pem') })
    expect(gone).toBe('SVC_DKIM_KEY_FILE: the file cannot be read (ENOENT)')
    const none = messageOf({ ...signing, SVC_DKIM_KEY_FILE: fileOf('none.pem', 'hunter2') })
    expect(none).toMatch(/^SVC_SMTP_URL: provider smtp: /)
    expect(none).not.toContain('hunter2')
  })
})

describe('SVC_PROVIDERS', () => {
  const json = JSON.stringify([gateway])

  it('is a list, or the path of a file with one', () => {
    const inline = read({ SVC_PROVIDERS: json }).providers
    expect(inline).toMatchObject([gateway])
    expect(read({ SVC_PROVIDERS: fileOf('providers.json', json) }).providers).toEqual(inline)
  })

  it('comes before the providers with variables of their own', () => {
    const env = { ...twilio, ...mail, TWILIO_SMS_FROM: '+15005550006', SVC_PROVIDERS: json }
    expect(read(env).providers.map(({ name }) => name)).toEqual(['gateway', 'twilio', 'smtp'])
  })

  it('reads secrets from other variables', () => {
    const auth = { type: 'bearer', token: '$' + '{GATEWAY_TOKEN}' }
    const SVC_PROVIDERS = JSON.stringify([{ ...gateway, auth }])
    const { providers } = read({ SVC_PROVIDERS, GATEWAY_TOKEN: 'hunter2' })
    expect(providers).toMatchObject([{ auth: { token: 'hunter2' } }])
    expect(messageOf({ SVC_PROVIDERS })).toBe(
      'SVC_PROVIDERS: the variable GATEWAY_TOKEN is not set',
    )
  })

  it.each([
    ['invalid JSON', '[hunter2', 'it is not valid JSON'],
    ['one provider without a list', '{"type":"hunter2"}', 'it is not a list'],
    ['a file that is not there', 'hunter2.json', 'the file cannot be read (ENOENT)'],
    ['a field that is none', JSON.stringify([{ ...gateway, hunter: 1 }]), 'provider gateway: '],
    ['one name twice', JSON.stringify([gateway, gateway]), 'the name is used twice'],
  ])('is refused: %s', (_, SVC_PROVIDERS, text) => {
    const message = messageOf({ SVC_PROVIDERS })
    expect(message).toMatch(/^SVC_PROVIDERS: /)
    expect(message).toContain(text)
    expect(message).not.toContain('hunter2')
  })

  it('may not repeat the name of a provider with variables of its own', () => {
    const SVC_PROVIDERS = JSON.stringify([{ ...gateway, name: 'smtp' }])
    expect(messageOf({ ...mail, SVC_PROVIDERS })).toBe(
      'SVC_PROVIDERS: provider smtp: the name is used twice',
    )
  })
})
