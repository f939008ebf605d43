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
  const reported: [object, string][] = []
  const log = { warn: (about: object, text: string) => void reported.push([about, text]) }
  warnOfSettings(log, readConfig(env), { dev, somaxconn })
  return reported
}

const NO_MAIL = 'no mail server is set: mails to owners (verify, reset) are not sent'
const NOT_REACHED =
  'SVC_PUBLIC_URL is not https: these providers report to it the status of messages, and may refuse it'

it('names the providers that may not report the status of messages', () => {
  expect(warnings({ ...MAIL, ...TWILIO })).toStrictEqual([[{ providers: ['twilio'] }, NOT_REACHED]])
  expect(warnings({ ...MAIL, ...TWILIO }, { dev: true })).toStrictEqual([])
  const SVC_PUBLIC_URL = 'https://svc.example.com'
  expect(warnings({ ...MAIL, ...TWILIO, SVC_PUBLIC_URL })).toStrictEqual([])
})

it('contains no value of a setting', () => {
  const reported = warnings({ ...TWILIO, ...stripe('sk_test_hunter2') })
  expect(reported).toHaveLength(3)
  expect(JSON.stringify(reported)).not.toMatch(/hunter2|0a0a|b1b1/)
})

it.each([
  ['sk_test_1', true],
  ['rk_test_1', true],
  ['sk_live_1', false],
  ['rk_live_1', false],
])('warns of test mode with the key %s: %s', (key, isReported) => {
  const reported = warnings(stripe(key)).some(([, text]) => text.includes('test mode'))
  expect(reported).toBe(isReported)
})

it('is silent under svc dev, and warns of a missing mail server otherwise', () => {
  expect(warnings(stripe('sk_test_1'), { dev: true })).toStrictEqual([])
  expect(warnings({})).toStrictEqual([[{}, NO_MAIL]])
})

it.each([
  [128, {}, true],
  [4_096, {}, false],
  [4_096, { SVC_LISTEN_BACKLOG: '8192' }, true],
  [null, {}, false],
])('warns of net.core.somaxconn %s with %o: %s', (somaxconn, env, isReported) => {
  const reported = warnings(env, { somaxconn }).some(([, text]) =>
    text.includes('net.core.somaxconn'),
  )
  expect(reported).toBe(isReported)
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
])('warns of a connection without TLS to %s: %s', async (database_url, isReported) => {
  const reported: string[] = []
  await warnOfDatabase({ warn: (_, text) => void reported.push(text) }, { database_url })
  expect(reported.map((text) => text.includes('does not require TLS'))).toEqual(
    isReported ? [true] : [],
  )
  expect(reported.join()).not.toMatch(/hunter2|example|192/)
})

it('names the settings of backups that PostgreSQL does not use', () => {
  const env = { ...MAIL, SVC_DATABASE_URL: 'postgres://svc@db/svc', SVC_BACKUP_KEEP: '3' }
  const [[about, text] = []] = warnings({ ...env, SVC_BACKUP_EVERY: '6h' })
  expect(about).toEqual({ settings: ['SVC_BACKUP_EVERY', 'SVC_BACKUP_KEEP'] })
  expect(text).toMatch(/no effect with PostgreSQL: remove them/)
  expect(warnings({ ...MAIL, SVC_BACKUP_EVERY: '6h' })).toEqual([])
})
