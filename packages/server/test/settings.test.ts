import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SIGNUP_CREDITS_ON } from '@svc/core'
import { LIMITS, QUOTAS, RATES } from '@svc/core/contract'
import {
  AUDIT_DAYS_DEFAULT,
  LEDGER_DAYS_MIN,
  RETENTION_DAYS_MAX,
  RETENTION_DAYS_MIN,
  VERIFICATION_DAYS_DEFAULT,
} from '@svc/core/operate'
import { expect, test } from 'vitest'
import { readConfig } from '../src/settings/config.ts'
import { SETTING_GROUPS, SETTINGS } from '../src/settings/table.ts'

const SOURCE = new URL('../src/', import.meta.url)

/** The variables that the code of this package names. */
function namedInSource(): Map<string, string> {
  const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .filter((file) => file !== join('settings', 'table.ts'))
  const found = new Map<string, string>()
  for (const file of files) {
    const text = readFileSync(new URL(file, SOURCE), 'utf8')
    for (const [, name = ''] of text.matchAll(/'((?:SVC|TWILIO|STRIPE)_[A-Z_]*[A-Z]|HOST|PORT)'/g))
      found.set(name, file)
  }
  return found
}

const table = new Map(SETTINGS.map((setting) => [setting.env, setting]))

test('every variable that code names is in the table', () => {
  const named = namedInSource()
  expect(named.size).toBeGreaterThan(35)
  for (const [name, file] of named) {
    expect(table.has(name), `${name}, read in ${file}, is not in the table`).toBe(true)
  }
})

test('code reads each setting that is part of a field', () => {
  const named = namedInSource()
  for (const { env } of PARTS) expect(named.has(env), env).toBe(true)
})

test('the examples are valid together', () => {
  const rows = SETTINGS.filter(({ group, kind }) => group !== 'client' && !/path/.test(kind))
  const env = Object.fromEntries(rows.map((setting) => [setting.env, setting.example]))
  // The selector needs a key file, and PostgreSQL has no settings of backups.
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
  '%s describes its effect in one line',
  (_, { summary, group, example }) => {
    expect(summary).toMatch(/^[^\n]{8,90}[^\n.]$/)
    expect(example).not.toBe('')
    expect(Object.keys(SETTING_GROUPS)).toContain(group)
  },
)

test('defaults are those of the contract and of the core', () => {
  expect(readConfig({})).toMatchObject({
    rates: RATES,
    quotas: QUOTAS,
    bulk_recipients_max: LIMITS.bulk_recipients,
    attachments_max_mb: LIMITS.email_attachments_bytes / 2 ** 20,
    audit_retention_days: AUDIT_DAYS_DEFAULT,
    verification_retention_days: VERIFICATION_DAYS_DEFAULT,
  })
})

test('ranges are those of the contract and of the core', () => {
  const days = { min: RETENTION_DAYS_MIN, max: RETENTION_DAYS_MAX }
  expect(table.get('SVC_RETENTION_DAYS')).toMatchObject(days)
  expect(table.get('SVC_HISTORY_DAYS')).toMatchObject(days)
  expect(table.get('SVC_LEDGER_DAYS')).toMatchObject({ ...days, min: LEDGER_DAYS_MIN })
  expect(table.get('SVC_AUDIT_RETENTION_DAYS')).toMatchObject(days)
  expect(table.get('SVC_BULK_RECIPIENTS_MAX')).toMatchObject({ max: LIMITS.bulk_recipients_max })
  const attachments = LIMITS.email_attachments_bytes_max / 2 ** 20
  expect(table.get('SVC_ATTACHMENTS_MAX_MB')).toMatchObject({ max: attachments })
  expect(table.get('SVC_SIGNUP_CREDITS_ON')).toMatchObject({ choices: SIGNUP_CREDITS_ON })
})

const PARTS = SETTINGS.filter(({ field, group }) => field === null && group !== 'client')
const WITH_DEFAULT = SETTINGS.filter(({ default_text }) => default_text !== null)

test.each(WITH_DEFAULT.map(({ env, default_text }) => [env, default_text ?? ''] as const))(
  '%s has the default %s',
  (env, text) => {
    const base = { SVC_BACKUP_EVERY: '1d' }
    expect(readConfig({ ...base, [env]: text })).toEqual(readConfig(base))
  },
)
