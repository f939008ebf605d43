import { describe, expect, it } from 'vitest'
import { ConfigError, readConfig } from '../src/config.ts'

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
    'takes a key that begins with %s',
    (key) => {
      const { stripe } = read({ STRIPE_SECRET_KEY: key, STRIPE_WEBHOOK_SECRET: SECRET })
      expect(stripe).toStrictEqual({ secret_key: key, webhook_secrets: [SECRET] })
    },
  )

  it('takes several signing secrets while one is rolled', () => {
    const { stripe } = read({
      STRIPE_SECRET_KEY: KEY,
      STRIPE_WEBHOOK_SECRET: ` ${SECRET}, whsec_old ,`,
    })
    expect(stripe?.webhook_secrets).toStrictEqual([SECRET, 'whsec_old'])
  })

  it('takes empty and blank for not set', () => {
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
  ])('may not be %s, where others could read the secret key', (STRIPE_API_URL) => {
    expect(messageOf({ ...set, STRIPE_API_URL })).toMatch(/^STRIPE_API_URL must be an https URL/)
  })

  it('means nothing without a key', () => {
    expect(messageOf({ STRIPE_API_URL: 'https://stripe.example' })).toMatch(
      /^STRIPE_SECRET_KEY must be set too/,
    )
  })
})

describe('half a set is refused by the name of what is missing', () => {
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

describe('a text that cannot be meant is refused by its name, and never repeated', () => {
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
