import { expect, it } from 'vitest'
import { readConfig } from '../src/settings/config.ts'
import { warnOfDatabase, warnOfSettings } from '../src/settings/warnings.ts'

const SMTP = 'smtp://svc:hunter2@mail.example.com'
const MAIL = { SVC_SMTP_URL: SMTP, SVC_MAIL_DOMAIN: 'example.com' }
const TWILIO = {
  TWILIO_ACCOUNT_SID: `AC${'0a'.repeat(16)}`,
  TWILIO_AUTH_TOKEN: 'b1'.repeat(16),
  TWILIO_SMS_FROM: '+15005550006',
}

const stripe = (key: string) => ({ STRIPE_SECRET_KEY: key, STRIPE_WEBHOOK_SECRET: 'whsec_hunter2' })

function warnings(
  env: NodeJS.ProcessEnv,
  { dev = false, somaxconn = null }: { dev?: boolean; somaxconn?: number | null } = {},
) {
  const told: [object, string][] = []
  const log = { warn: (about: object, text: string) => void told.push([about, text]) }
  warnOfSettings(log, readConfig(env), { dev, somaxconn })
  return told
}

const NO_MAIL = 'no mail server is used: mails to owners (verify, reset) reach nobody'
const NOT_REACHED =
  'SVC_PUBLIC_URL is not https: these providers report to it how messages fare, and may not reach it'

it('names the providers that cannot report how messages fare', () => {
  expect(warnings({ ...MAIL, ...TWILIO })).toStrictEqual([[{ providers: ['twilio'] }, NOT_REACHED]])
  expect(warnings({ ...MAIL, ...TWILIO }, { dev: true })).toStrictEqual([])
  const SVC_PUBLIC_URL = 'https://svc.example.com'
  expect(warnings({ ...MAIL, ...TWILIO, SVC_PUBLIC_URL })).toStrictEqual([])
})

it('repeats no value', () => {
  const told = warnings({ ...TWILIO, ...stripe('sk_test_hunter2') })
  expect(told).toHaveLength(3)
  expect(JSON.stringify(told)).not.toMatch(/hunter2|0a0a|b1b1/)
})

it.each([
  ['sk_test_1', true],
  ['rk_test_1', true],
  ['sk_live_1', false],
  ['rk_live_1', false],
])('with the key %s it is %s that no money moves', (key, isSaid) => {
  const said = warnings(stripe(key)).some(([, text]) => text.includes('no money moves'))
  expect(said).toBe(isSaid)
})

it('has nothing to say of a service that is only tried, but that mails reach nobody where it is not', () => {
  expect(warnings(stripe('sk_test_1'), { dev: true })).toStrictEqual([])
  expect(warnings({})).toStrictEqual([[{}, NO_MAIL]])
})

it.each([
  [128, {}, true],
  [4_096, {}, false],
  [4_096, { SVC_LISTEN_BACKLOG: '8192' }, true],
  [null, {}, false],
])('with net.core.somaxconn %s and %o it is %s that bursts may wait', (somaxconn, env, isSaid) => {
  const said = warnings(env, { somaxconn }).some(([, text]) => text.includes('net.core.somaxconn'))
  expect(said).toBe(isSaid)
})

it.each([
  ['postgres://svc:hunter2@db.example.com/svc', true],
  ['postgres://svc:hunter2@192.0.2.1/svc', true],
  ['postgres://svc:hunter2@db.example.com/svc?sslmode=disable', true],
  ['postgres://svc:hunter2@db.example.com/svc?ssl=0', true],
  ['postgres://svc:hunter2@db.example.com/svc?sslmode=verify-full', false],
  ['postgres://svc:hunter2@db.example.com/svc?sslmode=no-verify', false],
  ['postgres://svc:hunter2@db.example.com/svc?ssl=true', false],
  ['postgres://svc:hunter2@localhost/svc', false],
  ['postgres://svc:hunter2@127.0.0.1/svc', false],
  ['postgres://svc:hunter2@[::1]/svc', false],
  ['postgres://svc@%2Frun%2Fpostgresql/svc', false],
  ['file:svc.db', false],
])('of %s it is %s that others on the network can read along', async (database_url, isSaid) => {
  const told: string[] = []
  await warnOfDatabase({ warn: (_, text) => void told.push(text) }, { database_url })
  expect(told.map((text) => text.includes('asks for no TLS'))).toEqual(isSaid ? [true] : [])
  expect(told.join()).not.toMatch(/hunter2|example|192/)
})
