import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readConfig } from '../src/config.ts'
import { SETTING_GROUPS, SETTINGS } from '../src/settings.ts'

const SOURCE = new URL('../src/', import.meta.url)
const GUIDE = new URL('../../../docs/operating/configuration.md', import.meta.url)

/** The variables that the code of this package names as texts. */
function namedInSource(): Map<string, string> {
  const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .filter((file) => file !== 'settings.ts')
  const found = new Map<string, string>()
  for (const file of files) {
    const text = readFileSync(new URL(file, SOURCE), 'utf8')
    for (const [, name = ''] of text.matchAll(/'((?:SVC|TWILIO|STRIPE)_[A-Z_]*[A-Z]|HOST|PORT)'/g))
      found.set(name, file)
  }
  return found
}

const table = new Map(SETTINGS.map((setting) => [setting.env, setting]))

test('every variable that is read is in the table', () => {
  const named = namedInSource()
  expect(named.size).toBeGreaterThan(35)
  for (const [name, file] of named) {
    expect(table.has(name), `${name}, read in ${file}, is not in settings.ts`).toBe(true)
  }
})

test('the table has nothing that nobody reads', () => {
  const named = namedInSource()
  for (const { env, group } of SETTINGS) {
    if (group !== 'client') expect(named.has(env), env).toBe(true)
  }
})

test('configuration.md names each with its key', () => {
  const guide = readFileSync(GUIDE, 'utf8')
  const missing = SETTINGS.filter(({ env }) => !guide.includes(`\`${env}\``))
  expect(missing.map(({ env }) => env)).toEqual([])
})

test('the examples can be meant, all together', () => {
  const given = SETTINGS.filter(({ group, kind }) => group !== 'client' && !/path/.test(kind))
  const env = Object.fromEntries(given.map((setting) => [setting.env, setting.example]))
  // The key that the one names would be read from its file; with the other there are no backups to be set.
  const without = { SVC_DKIM_SELECTOR: undefined, SVC_DATABASE_URL: undefined }
  expect(() => readConfig({ ...env, ...without })).not.toThrow()
})

test('keys follow from the names, and no two are the same', () => {
  expect(table.get('SVC_DATA_DIR')?.key).toBe('data_dir')
  expect(table.get('PORT')?.key).toBe('port')
  expect(table.get('TWILIO_ACCOUNT_SID')?.key).toBe('twilio_account_sid')
  expect(new Set(SETTINGS.map(({ key }) => key)).size).toBe(SETTINGS.length)
  expect(table.size).toBe(SETTINGS.length)
})

test.each(SETTINGS.map((setting) => [setting.env, setting] as const))(
  '%s says in one line what it does',
  (_, { summary, group, example }) => {
    expect(summary).toMatch(/^[^\n]{8,90}[^\n.]$/)
    expect(example).not.toBe('')
    expect(Object.keys(SETTING_GROUPS)).toContain(group)
  },
)

/** Whose default is told in words. */
const IN_WORDS = [
  'SVC_DATABASE_URL',
  'SVC_PUBLIC_URL',
  'SVC_JWT_SECRET',
  'SVC_PRICES',
  'SVC_ALLOWED_COUNTRIES',
  'STRIPE_API_URL',
  'SVC_PROVIDERS',
  'SVC_WEBHOOK_DNS',
  'SVC_BACKUP_DIR',
  'SVC_RATE_LIMIT_WORKSPACE',
  'SVC_RATE_LIMIT_BULK_ESTIMATE',
  'SVC_RETENTION_DAYS',
  'SVC_URL',
]

const DEFAULTS = SETTINGS.filter(
  ({ env, default: text }) => text !== null && !IN_WORDS.includes(env),
)

test.each(DEFAULTS.map((setting) => [setting.env, setting] as const))(
  '%s is by default what the table says',
  (env, { default: text }) => {
    const base = { SVC_BACKUP_EVERY: '1d' }
    expect(readConfig({ ...base, [env]: text ?? '' })).toEqual(readConfig(base))
  },
)
