import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { createCore } from '../src/core.ts'
import type { CoreOptions } from '../src/core-options.ts'
import { systemRuntime } from '../src/runtime/runtime.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-options-'))
const file = join(folder, 'svc.db')
let count = 0

afterAll(() => rmSync(folder, { recursive: true }))

it.each<[string, Partial<CoreOptions>, number]>([
  ['at signup without a mailer', {}, 5_000_000],
  ['at verification with a mailer', { mailer: { send: async () => {} } }, 0],
  [
    'when the option signup_credits_on says',
    { mailer: { send: async () => {} }, signup_credits_on: 'signup' },
    5_000_000,
  ],
])('credits come %s', async (_, options, credits) => {
  const database_url = `file:${join(folder, `${++count}.db`)}`
  const core = await createCore({ database_url, threads: 0, signup_credits: '5', ...options })
  const request = { email: 'a@example.com', password: 'long enough', company_name: 'Company' }
  expect((await core.workspaces.signup(request)).credits_balance).toBe(credits)
  await core.close()
})

it.each<[options: unknown, text: string]>([
  [undefined, 'the options: must be an object'],
  [{}, 'database_url: is missing'],
  [{ database_url: 5 }, 'database_url: must be a string'],
  [given({ provider: [] }), 'Unknown option: provider. Did you mean providers?'],
  [given({ databaseUrl: 'file:x' }), 'Unknown option: databaseUrl. Did you mean database_url?'],
  [given({ colour: 'red' }), 'Unknown option: colour'],
  [given({ database_url: 'mysql://x' }), 'database_url must begin with file: or postgres:, not'],
  [given({ database_url: 'postgres://[x' }), 'database_url is not a valid postgres:// address'],
  [given({ database_direct_url: 'postgres://x' }), 'database_direct_url is only for PostgreSQL'],
  [
    given({ database_url: 'postgres://x', database_direct_url: 'file:x' }),
    'database_direct_url must begin with postgres:',
  ],
  [
    given({ database_replica_urls: ['postgres://x'] }),
    'database_replica_urls is only for PostgreSQL',
  ],
  [
    given({ database_url: 'postgres://x', database_replica_urls: ['file:x'] }),
    'database_replica_urls must begin with postgres:',
  ],
  [given({ database_replica_max_lag_ms: 0 }), 'database_replica_max_lag_ms: must be '],
  [given({ console_url: 'https://svc.example' }), 'console_url: must be a function'],
  [given({ brand: '' }), 'brand: must be a name of 1 to 60 characters'],
  [given({ brand: 'A\nB' }), 'brand: must be a name of 1 to 60 characters'],
  [given({ durability: 'ram' }), 'durability: must be one of: disk, none'],
  [given({ secrets_keys: 'k' }), 'secrets_keys: must be an array'],
  [given({ secrets_keys: ['k'] }), 'secrets_keys: the key must be 32 bytes'],
  [given({ accept_any_password: 1 }), 'accept_any_password: must be a boolean'],
  [given({ require_secrets_keys: 'no' }), 'require_secrets_keys: must be a boolean'],
  [given({ prices: { sms: 'cheap' } }), 'prices: sms: '],
  [given({ prices: { sms: null } }), 'prices.sms: must be a text of credits, or an object of pref'],
  [{ databaseUrl: 'file:x' }, 'Unknown option: databaseUrl. Did you mean database_url?'],
  [given({ prices: { smss: '1' } }), 'Unknown option: prices.smss. Did you mean prices.sms?'],
  [given({ countries: ['TZ'] }), 'countries: must be an object'],
  [given({ countries: { allowed: ['XX'], denied: [] } }), 'countries.allowed[0]: must be a two-'],
  [given({ sequence_limit: { max: 2, window_s: 60 } }), 'sequence_limit.max: must be a whole'],
  [given({ quotas: { webhooks: 0 } }), 'quotas.webhooks: must be a whole number from 1 to '],
  [given({ quotas: { webhook: 9 } }), 'Unknown option: quotas.webhook. Did you mean quotas.webh'],
  [
    given({ bulk_recipients_max: 0 }),
    'bulk_recipients_max: must be a whole number from 1 to 10000',
  ],
  [given({ retention_days: 3 }), 'retention_days: must be a whole number from 7 to 36500, got 3'],
  [given({ ledger_days: 399 }), 'ledger_days: must be a whole number from 400 to 36500, got 399'],
  [given({ ledger_days: 400 }), 'ledger_days: must be at least history_days'],
  [given({ ledger_days: 400, history_days: 401 }), 'ledger_days: must be at least history_days'],
  [given({ audit_retention_days: 6 }), 'audit_retention_days: must be a whole number from 7 to'],
  [given({ signup_credits: 'many' }), 'signup_credits: must be a decimal text of credits from "0"'],
  [given({ signup_credits: 5 }), 'signup_credits: must be a decimal text of credits from "0"'],
  [given({ signup_credits: '-5' }), 'signup_credits: must be a decimal text of credits from "0"'],
  [given({ signup_credits_on: 'never' }), 'signup_credits_on: must be one of: signup, verif'],
  [given({ signup_daily_limit: 'much' }), 'signup_daily_limit: must be a decimal text'],
  [given({ low_balance: 'low' }), 'low_balance: must be a decimal text'],
  [given({ credit_packages: [{ id: 'a' }] }), 'credit_packages[0].name: is missing'],
  [given({ payments: {} }), 'payments: must be an object with the functions open, read, look'],
  [given({ reply_texts: { stopp: 'x' } }), 'Unknown option: reply_texts.stopp. Did you mean'],
  [given({ reply_texts: { stop: 5 } }), 'reply_texts.stop: must be a string'],
  [given({ webhook_targets: {} }), 'webhook_targets.allow_http: is missing'],
  [given({ webhook_targets: net('10/x') }), 'webhook_targets.allow_nets[0]: must be a network'],
  [given({ webhook_targets: dns('x') }), 'webhook_targets.dns: must be "system" or a list'],
  [given({ webhook_targets: dns(['x']) }), 'webhook_targets.dns: must be "system" or a list'],
  [given({ providers: {} }), 'providers: must be an array'],
  [given({ providers: [{ type: 'smtp' }] }), 'providers[0]'],
  [given({ public_url: 'x' }), 'public_url: must be a function'],
  [given({ mailer: {} }), 'mailer: must be an object with the function send'],
  [given({ threads: -1 }), 'threads: must be a whole number from 0 to 64, got -1'],
  [given({ threads: 1.5 }), 'threads: must be a whole number from 0 to 64, got 1.5'],
  [given({ threads: '2' }), 'threads: must be a whole number from 0 to 64, got a string'],
  [
    given({ lease_ms: Number.NaN }),
    'lease_ms: must be a whole number from 100 to 3600000, got NaN',
  ],
  [given({ answer_max_ms: 0 }), 'answer_max_ms: must be a whole number from 100 to 600000, got 0'],
  [given({ runtime: {} }), 'runtime: must be an object with the functions now, elapsed'],
  [given({ runtime: { ...systemRuntime(), log: {} } }), 'runtime.log: must be an object with'],
  [given({ events: 'yes' }), 'events: must be a boolean'],
  [given({ onFailure: true }), 'onFailure: must be a function'],
])('%o is refused with the name of the option before anything is opened', async (options, text) => {
  const error = await createCore(options as CoreOptions).catch((e) => e)
  expect(error.message.slice(0, text.length)).toBe(text)
  expect(error.message).not.toContain('SVC_')
  expect(existsSync(file)).toBe(false)
})

it('an error shows no text of an option, which may be a secret', async () => {
  const secret = 'whsec_secret'
  for (const name of ['secrets_keys', 'threads', 'payments', 'webhook_targets', 'signup_credits']) {
    const { message } = await createCore(given({ [name]: secret })).catch((e) => e)
    expect(message).not.toContain(secret)
  }
})

it.each(['x', 'ftp://a.example', 'https://a.example/'])(
  'a public_url that returns %s is refused at its use',
  async (url) => {
    const database_url = `file:${join(folder, `${++count}.db`)}`
    const core = await createCore({ database_url, threads: 0, public_url: () => url })
    await expect(core.startDispatch()).rejects.toThrow(
      `public_url: must return an http or https URL without a slash at its end, got "${url}"`,
    )
    await core.close()
  },
)

it('a core that cannot open closes its database', async () => {
  const database_url = `file:${join(folder, `${++count}.db`)}`
  const secrets_keys = [Buffer.alloc(32, 1).toString('base64')]
  const core = await createCore({ database_url, threads: 0, secrets_keys })
  await core.secret('one')
  await core.close()
  const opened = createCore({ database_url, threads: 0 })
  await expect(opened).rejects.toMatchObject({ code: 'secrets_key' })
  // SQLite removes this file when the last connection is closed.
  expect(existsSync(`${database_url.slice('file:'.length)}-wal`)).toBe(false)
})

it('a core whose parts cannot be made closes its database', async () => {
  const database_url = `file:${join(folder, `${++count}.db`)}`
  const mailer = { send: async () => {} }
  let reads = 0
  const options: CoreOptions = {
    database_url,
    threads: 0,
    get mailer() {
      reads += 1
      if (reads > 1) throw new Error('no mailer')
      return mailer
    },
  }
  await expect(createCore(options)).rejects.toThrow('no mailer')
  expect(existsSync(`${database_url.slice('file:'.length)}-wal`)).toBe(false)
})

it.each([-1, 0.5, Number.NaN, '5', 3_600_001])(
  'close refuses grace_ms %s, and a later close works',
  async (grace_ms) => {
    const database_url = `file:${join(folder, `${++count}.db`)}`
    const core = await createCore({ database_url, threads: 0 })
    const refused = core.close({ grace_ms: grace_ms as number })
    await expect(refused).rejects.toMatchObject({ code: 'validation_error' })
    await core.ping()
    await core.close()
  },
)

function given(options: object): CoreOptions {
  return { database_url: `file:${file}`, ...options }
}

function net(text: string): object {
  return { allow_http: true, allow_nets: [text] }
}

function dns(servers: unknown): object {
  return { allow_http: true, dns: servers }
}
