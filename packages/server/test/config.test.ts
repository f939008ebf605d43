import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RATES } from '@svc/core/contract'
import Fastify from 'fastify'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ConfigError, readConfig, urlOf } from '../src/settings/config.ts'

const SECRET = 'a secret of more than thirty-two bytes'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-config-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const read = (env: NodeJS.ProcessEnv = {}) =>
  readConfig({ SVC_DATA_DIR: folder, SVC_JWT_SECRET: SECRET, ...env })

function messageOf(env: NodeJS.ProcessEnv): string {
  try {
    read(env)
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    return (error as ConfigError).message
  }
  throw new Error(`accepted: ${JSON.stringify(env)}`)
}

describe('with nothing set', () => {
  it('has the defaults of contract section 11', () => {
    expect(read()).toMatchObject({
      host: '127.0.0.1',
      port: 3000,
      data_dir: folder,
      database_url: `file:${join(folder, 'svc.db')}`,
      public_url: 'http://127.0.0.1:3000',
      rates: RATES,
      trust_proxy: [],
      overload: { requests: 4_000, delay_ms: 1_000 },
      webhook_allow_http: false,
      webhook_allow_nets: [],
      bulk_recipients_max: 1_000,
      attachments_max_mb: 10,
      signup_credits: '0',
      signup_daily_limit: null,
      low_balance: null,
      retention_days: null,
      countries: null,
      sequence_limit: null,
    })
    expect(readConfig({}).jwt_secret).toBeNull()
  })

  it('treats empty and blank values as not set', () => {
    const env = { PORT: '', HOST: '  ', SVC_RATE_LIMIT_GENERAL: '', SVC_TRUST_PROXY: ' ' }
    expect(read(env)).toStrictEqual(read())
  })
})

it('reads every setting', () => {
  expect(
    read({
      HOST: '::',
      PORT: '8080',
      SVC_DATABASE_URL: 'file:/var/lib/svc/svc.db',
      SVC_PUBLIC_URL: 'https://svc.example.com/',
      SVC_RATE_LIMIT_GENERAL: '1000/60',
      SVC_RATE_LIMIT_WORKSPACE: '3000/30',
      SVC_RATE_LIMIT_CONSOLE: '400/50',
      SVC_RATE_LIMIT_BULK: '1/1',
      SVC_RATE_LIMIT_BULK_ESTIMATE: '7/8',
      SVC_RATE_LIMIT_AUTH: '50/900',
      SVC_RATE_LIMIT_ANONYMOUS: '2/3',
      SVC_RATE_LIMIT_FAILED_AUTH: '999999999/9999999',
      SVC_RATE_LIMIT_SIGNUP_ALL: '7/60',
      SVC_API_KEYS_MAX: '7',
      SVC_WEBHOOKS_MAX: '8',
      SVC_WEBHOOKS_PER_HOST_MAX: '9',
      SVC_CONTACTS_MAX: '11',
      SVC_TEST_MESSAGES_PER_DAY: '10',
      SVC_TEST_BYTES_PER_DAY: '999999999999',
      SVC_TEST_DELIVERIES_PER_DAY: '11',
      SVC_TEST_DELIVERIES_PER_SECOND: '12',
      SVC_TRUST_PROXY: '10.0.0.0/8, 192.0.2.1,fd00::/8',
      SVC_OVERLOAD_REQUESTS: '1',
      SVC_OVERLOAD_DELAY_MS: '9999999',
      SVC_CONNECTIONS_MAX: '500',
      SVC_LISTEN_BACKLOG: '65535',
      SVC_WEBHOOK_ALLOW_HTTP: 'true',
      SVC_WEBHOOK_ALLOW_NETS: '10.0.0.0/8, fd00::/8',
      SVC_WEBHOOK_DNS: '10.0.0.2, 10.0.0.3:5353, ::1, [::1]:5353',
      SVC_BULK_RECIPIENTS_MAX: '10000',
      SVC_ATTACHMENTS_MAX_MB: '40',
      SVC_SIGNUP_CREDITS: '0.5',
      SVC_SIGNUP_CREDITS_ON: 'verification',
      SVC_SIGNUP_DAILY_LIMIT: '250',
      SVC_LOW_BALANCE: '9.5',
      SVC_RETENTION_DAYS: '7',
      SVC_CREDIT_PACKAGES:
        '[{"id":"a","name":"A","credits":5,"price":{"amount":100,"currency":"EUR"}}]',
      SVC_LOG_LEVEL: 'trace',
    }),
  ).toMatchObject({
    host: '::',
    port: 8080,
    database_url: 'file:/var/lib/svc/svc.db',
    public_url: 'https://svc.example.com',
    rates: {
      general: { max: 1000, window_s: 60 },
      workspace: { max: 3000, window_s: 30 },
      console: { max: 400, window_s: 50 },
      bulk: { max: 1, window_s: 1 },
      bulk_estimate: { max: 7, window_s: 8 },
      auth: { max: 50, window_s: 900 },
      anonymous: { max: 2, window_s: 3 },
      failed_auth: { max: 999_999_999, window_s: 9_999_999 },
      // Default: 200 times the limit of one client.
      login_all: { max: 10_000, window_s: 900 },
      signup_all: { max: 7, window_s: 60 },
    },
    quotas: {
      api_keys: 7,
      webhooks: 8,
      webhooks_per_host: 9,
      contacts: 11,
      test_messages_per_day: 10,
      test_bytes_per_day: 999_999_999_999,
      test_deliveries_per_day: 11,
      test_deliveries_per_second: 12,
    },
    trust_proxy: ['10.0.0.0/8', '192.0.2.1', 'fd00::/8'],
    overload: { requests: 1, delay_ms: 9_999_999 },
    connections_max: 500,
    listen_backlog: 65_535,
    webhook_allow_http: true,
    webhook_allow_nets: ['10.0.0.0/8', 'fd00::/8'],
    webhook_dns: ['10.0.0.2', '10.0.0.3:5353', '::1', '[::1]:5353'],
    bulk_recipients_max: 10_000,
    attachments_max_mb: 40,
    signup_credits: '0.5',
    signup_credits_on: 'verification',
    signup_daily_limit: '250',
    low_balance: '9.5',
    retention_days: 7,
    credit_packages: [{ id: 'a', credits: 5_000_000, bonus_credits: 0 }],
    log_level: 'trace',
  })
})

it('derives the limits of a workspace from the general and the bulk limit', () => {
  const { rates } = read({ SVC_RATE_LIMIT_GENERAL: '1000/10', SVC_RATE_LIMIT_BULK: '20/60' })
  expect(rates.workspace).toStrictEqual({ max: 5000, window_s: 10 })
  expect(rates.bulk_estimate).toStrictEqual({ max: 120, window_s: 60 })
})

describe('the error for a wrong setting names the setting', () => {
  const RATE = 'must be count/seconds, for example 100/60'
  const WHOLE = 'must be a whole number from 1 to 9999999'
  const NETWORKS = 'SVC_TRUST_PROXY must list CIDR networks, for example 10.0.0.0/8'
  it.each([
    ['PORT', 'http', 'PORT must be a number from 0 to 65535, got "http"'],
    ['PORT', '65536', 'PORT must be a number from 0 to 65535, got "65536"'],
    ['PORT', '-1', 'PORT must be a number from 0 to 65535, got "-1"'],
    ['PORT', '80.5', 'PORT must be a number from 0 to 65535, got "80.5"'],
    ['SVC_JWT_SECRET', 'short', 'SVC_JWT_SECRET must be at least 32 bytes long'],
    [
      'SVC_PUBLIC_URL',
      'svc.example',
      'SVC_PUBLIC_URL must be an http or https URL, got "svc.example"',
    ],
    [
      'SVC_PUBLIC_URL',
      'ftp://svc.example',
      'SVC_PUBLIC_URL must be an http or https URL, got "ftp://svc.example"',
    ],
    ['SVC_RATE_LIMIT_GENERAL', '100', `SVC_RATE_LIMIT_GENERAL ${RATE}, got "100"`],
    ['SVC_RATE_LIMIT_GENERAL', '0/60', `SVC_RATE_LIMIT_GENERAL ${RATE}, got "0/60"`],
    ['SVC_RATE_LIMIT_WORKSPACE', '0/60', `SVC_RATE_LIMIT_WORKSPACE ${RATE}, got "0/60"`],
    ['SVC_RATE_LIMIT_BULK', '10/0', `SVC_RATE_LIMIT_BULK ${RATE}, got "10/0"`],
    ['SVC_RATE_LIMIT_AUTH', '5/900s', `SVC_RATE_LIMIT_AUTH ${RATE}, got "5/900s"`],
    ['SVC_RATE_LIMIT_ANONYMOUS', '-1/60', `SVC_RATE_LIMIT_ANONYMOUS ${RATE}, got "-1/60"`],
    ['SVC_RATE_LIMIT_FAILED_AUTH', '1e3/60', `SVC_RATE_LIMIT_FAILED_AUTH ${RATE}, got "1e3/60"`],
    ['SVC_API_KEYS_MAX', '0', `SVC_API_KEYS_MAX ${WHOLE}, got "0"`],
    ['SVC_WEBHOOKS_PER_HOST_MAX', '-1', `SVC_WEBHOOKS_PER_HOST_MAX ${WHOLE}, got "-1"`],
    ['SVC_OVERLOAD_REQUESTS', '0', `SVC_OVERLOAD_REQUESTS ${WHOLE}, got "0"`],
    ['SVC_OVERLOAD_REQUESTS', '10000000', `SVC_OVERLOAD_REQUESTS ${WHOLE}, got "10000000"`],
    ['SVC_OVERLOAD_DELAY_MS', '1.5', `SVC_OVERLOAD_DELAY_MS ${WHOLE}, got "1.5"`],
    ['SVC_OVERLOAD_DELAY_MS', '-1', `SVC_OVERLOAD_DELAY_MS ${WHOLE}, got "-1"`],
    ['SVC_CONNECTIONS_MAX', '0', `SVC_CONNECTIONS_MAX ${WHOLE}, got "0"`],
    [
      'SVC_LISTEN_BACKLOG',
      '65536',
      'SVC_LISTEN_BACKLOG must be a whole number from 1 to 65535, got "65536"',
    ],
    ['SVC_TRUST_PROXY', 'true', `${NETWORKS}, got "true"`],
    ['SVC_TRUST_PROXY', '10.0.0.0/33', `${NETWORKS}, got "10.0.0.0/33"`],
    ['SVC_TRUST_PROXY', '0.0.0.0/0', `${NETWORKS}, got "0.0.0.0/0"`],
    ['SVC_TRUST_PROXY', '::/0', `${NETWORKS}, got "::/0"`],
    ['SVC_TRUST_PROXY', '10.0.0.0/', `${NETWORKS}, got "10.0.0.0/"`],
    ['SVC_TRUST_PROXY', '10.0.0.0/8/8', `${NETWORKS}, got "10.0.0.0/8/8"`],
    ['SVC_TRUST_PROXY', 'fd00::/129', `${NETWORKS}, got "fd00::/129"`],
    ['SVC_TRUST_PROXY', 'fe80::1%eth0', `${NETWORKS}, got "fe80::1%eth0"`],
    ['SVC_TRUST_PROXY', '10.0.0.1, proxy.example', `${NETWORKS}, got "proxy.example"`],
    [
      'SVC_WEBHOOK_ALLOW_NETS',
      'all',
      `${NETWORKS.replace('SVC_TRUST_PROXY', 'SVC_WEBHOOK_ALLOW_NETS')}, got "all"`,
    ],
    ...['dns.example', '10.0.0.2:0', '10.0.0.2:65536', '::1]:53', '[10.0.0.2', ',', '::1:53:x'].map(
      (text): [string, string, string] => [
        'SVC_WEBHOOK_DNS',
        text,
        `SVC_WEBHOOK_DNS must be system, or addresses of DNS servers, for example 10.0.0.2,10.0.0.3:5353, got "${text === ',' ? '' : text}"`,
      ],
    ),
    [
      'SVC_WEBHOOK_ALLOW_HTTP',
      'yes',
      'SVC_WEBHOOK_ALLOW_HTTP must be one of true, false, got "yes"',
    ],
    ...['0', '10001', '1.5', 'all'].map((text): [string, string, string] => [
      'SVC_BULK_RECIPIENTS_MAX',
      text,
      `SVC_BULK_RECIPIENTS_MAX must be a whole number from 1 to 10000, got "${text}"`,
    ]),
    ...['6', '0', '36501', '90 days', '-7', '7.5'].map((text): [string, string, string] => [
      'SVC_RETENTION_DAYS',
      text,
      `SVC_RETENTION_DAYS must be a whole number of days from 7 to 36500, got "${text}"`,
    ]),
    [
      'SVC_SIGNUP_CREDITS',
      '-1',
      'SVC_SIGNUP_CREDITS must be a number of credits, for example 100 or 0.5, got "-1"',
    ],
    [
      'SVC_SIGNUP_CREDITS',
      '1e3',
      'SVC_SIGNUP_CREDITS must be a number of credits, for example 100 or 0.5, got "1e3"',
    ],
    [
      'SVC_SIGNUP_CREDITS_ON',
      'Signup',
      'SVC_SIGNUP_CREDITS_ON must be one of signup, verification, got "Signup"',
    ],
    [
      'SVC_SIGNUP_DAILY_LIMIT',
      '-1',
      'SVC_SIGNUP_DAILY_LIMIT must be a number of credits, for example 100 or 0.5, got "-1"',
    ],
    [
      'SVC_LOW_BALANCE',
      'ten',
      'SVC_LOW_BALANCE must be a number of credits, for example 100 or 0.5, got "ten"',
    ],
    [
      'SVC_CREDIT_PACKAGES',
      '[{"id":"a b"}]',
      'SVC_CREDIT_PACKAGES must be a JSON list of packages: package "a b": id: must be letters, digits, ".", "-" or "_"',
    ],
    [
      'SVC_LOG_LEVEL',
      'loud',
      'SVC_LOG_LEVEL must be one of fatal, error, warn, info, debug, trace, silent, got "loud"',
    ],
  ])('%s=%s', (name, value, message) => {
    expect(messageOf({ [name]: value })).toBe(message)
  })

  it('folds entries only after their messages were removed', () => {
    const days = { SVC_LEDGER_DAYS: '400' }
    expect(messageOf(days)).toBe(
      'SVC_LEDGER_DAYS needs SVC_HISTORY_DAYS: only the entries of removed messages are folded',
    )
    expect(messageOf({ ...days, SVC_HISTORY_DAYS: '401' })).toBe(
      'SVC_LEDGER_DAYS must be at least SVC_HISTORY_DAYS (401), got 400',
    )
    expect(read({ ...days, SVC_HISTORY_DAYS: '400' })).toMatchObject({ ledger_days: 400 })
  })

  it('takes a database URL of several servers if each can be read', () => {
    const SVC_DATABASE_URL = 'postgres://svc:hunter2@a.example:5432,b.example/svc'
    expect(readConfig({ SVC_DATABASE_URL }).database_url).toBe(SVC_DATABASE_URL)
    const wrong = messageOf({
      SVC_DATABASE_URL: 'postgres://svc:hunter2@a.example:x,b.example/svc',
    })
    expect(wrong).toMatch(/^SVC_DATABASE_URL must be /)
    expect(wrong).not.toContain('hunter2')
  })

  it('does not repeat a database URL, which may hold a password', () => {
    const message = messageOf({ SVC_DATABASE_URL: 'mysql://root:hunter2@db/svc' })
    expect(message).toMatch(/^SVC_DATABASE_URL must be /)
    expect(message).not.toContain('hunter2')
    expect(messageOf({ SVC_DATABASE_URL: 'file:' })).toBe(message)
    const direct = messageOf({ SVC_DATABASE_DIRECT_URL: 'mysql://root:hunter2@db/svc' })
    expect(direct).toBe('SVC_DATABASE_DIRECT_URL must be postgres://user:password@host/database')
    const replicas = messageOf({
      SVC_DATABASE_REPLICA_URLS: 'postgres://b/svc,mysql://root:hunter2@db/svc',
    })
    expect(replicas).toBe(
      'SVC_DATABASE_REPLICA_URLS must be postgres://user:password@host/database',
    )
  })

  it('does not repeat a secret', () => {
    expect(messageOf({ SVC_JWT_SECRET: 'hunter2' })).not.toContain('hunter2')
  })

  it('accepts only networks that the HTTP server can use', () => {
    const { trust_proxy } = read({
      SVC_TRUST_PROXY: '10.0.0.0/8,::1,fd00::/8,0.0.0.0/1,::/1,::ffff:10.0.0.1',
    })
    expect(() => Fastify({ trustProxy: trust_proxy })).not.toThrow()
  })
})

describe('the secret of the sessions', () => {
  it('is null by default, so that the database keeps one, and no file is written', () => {
    const data = join(folder, 'new', 'data')
    expect(readConfig({ SVC_DATA_DIR: data }).jwt_secret).toBeNull()
    expect(existsSync(data)).toBe(false)
  })

  it('has its length in bytes', () => {
    expect(read({ SVC_JWT_SECRET: 'ü'.repeat(16) }).jwt_secret).toHaveLength(16)
  })
})

it.each([
  ['127.0.0.1', 80, 'http://127.0.0.1:80'],
  ['::1', 3000, 'http://[::1]:3000'],
  ['localhost', 3000, 'http://localhost:3000'],
])('a server on %s and %d has the URL %s', (host, port, url) => {
  expect(urlOf(host, port)).toBe(url)
})
