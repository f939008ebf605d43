import { readFileSync, statSync } from 'node:fs'
import { isIP } from 'node:net'
import { join, resolve } from 'node:path'
import type { CountryRule, Prices, SequenceLimit } from '@svc/core'
import { RATES, type RateLimit } from '@svc/core/contract'
import {
  type ListedProvider,
  readCountries,
  readPrices,
  readSecretsKeys,
  readSequenceLimit,
} from '@svc/core/operate'
import { isOneOfSeveral } from '../one-of-several.ts'
import { type BackupSettings, readBackups, unusedBackupSettings } from './backups.ts'
import { type OidcSettings, readOidc } from './oidc.ts'
import { readProviderSettings } from './providers.ts'
import { readSetting, type SettingName, type ValueOf } from './readers.ts'
import { SETTINGS, type ServiceRows } from './table.ts'
import { ConfigError, itemsOf, type Read, readSet, type Variable } from './variables.ts'

export { ConfigError }

/**
 * The settings of the service, checked and complete. Each setting is a field under its key in the configuration file
 * (docs/operating/configuration.md), except for the groups `rates`, `quotas` and `overload`, and the fields below.
 * Credits are decimal texts; null means that a setting without a default is not set. Source: contract section 11.
 */
export interface Config extends Fields, SpendSettings, SecretsSettings {
  /** The listening socket that the process got from its parent; null for none. */
  listen_fd: number | null
  /** Null if no payments are taken. */
  stripe: StripeSettings | null
  /** Null if members sign in with passwords only. */
  oidc: OidcSettings | null
  /** The providers, in the order in which they are tried. */
  providers: ListedProvider[]
  /** The backups that the server makes by itself; null for none. */
  backups: BackupSettings | null
  /** Settings of backups that have no effect with PostgreSQL. */
  unused_backup_settings: readonly string[]
}

/** The settings that have their own field in `Config`. */
type FieldName = {
  [Name in SettingName]: ServiceRows[Name] extends { is_part: true } ? never : Name
}[SettingName]

type PathOf<Name extends FieldName> = ServiceRows[Name] extends { field: infer Path extends string }
  ? Path
  : Lowercase<Name extends `SVC_${infer Rest}` ? Rest : Name>

type Paths = { [Name in FieldName as PathOf<Name>]: ValueOf<Name> }

type GroupOf<Path> = Path extends `${infer Group}.${string}` ? Group : never

type Fields = {
  [Path in keyof Paths as Path extends `${string}.${string}` ? never : Path]: Paths[Path]
} & {
  [Group in GroupOf<keyof Paths>]: {
    [Path in keyof Paths as Path extends `${Group}.${infer Name}` ? Name : never]: Paths[Path]
  }
}

type DerivedName = {
  [Name in FieldName]: ServiceRows[Name] extends { is_derived: true } ? Name : never
}[FieldName]

type Value = <Name extends FieldName>(name: Name) => ValueOf<Name>

/** The defaults that follow from other settings, so that an operator needs to set only the other setting. */
const DERIVED: { readonly [Name in DerivedName]: (value: Value) => ValueOf<Name> } = {
  SVC_DATABASE_URL: (value) => `file:${join(value('SVC_DATA_DIR'), 'svc.db')}`,
  SVC_PUBLIC_URL: (value) => readSetting('SVC_PUBLIC_URL', urlOf(value('HOST'), value('PORT'))),
  SVC_RATE_LIMIT_WORKSPACE: (value) =>
    times(value('SVC_RATE_LIMIT_GENERAL'), RATES.workspace.max / RATES.general.max),
  SVC_RATE_LIMIT_BULK_ESTIMATE: (value) =>
    times(value('SVC_RATE_LIMIT_BULK'), RATES.bulk_estimate.max / RATES.bulk.max),
  SVC_RATE_LIMIT_LOGIN_ALL: (value) =>
    times(value('SVC_RATE_LIMIT_AUTH'), RATES.login_all.max / RATES.auth.max),
  SVC_RATE_LIMIT_SIGNUP_ALL: (value) =>
    times(value('SVC_RATE_LIMIT_AUTH'), RATES.signup_all.max / RATES.auth.max),
}

/** A start checks these settings first, and reports the first wrong setting. */
const CHECKED_FIRST: readonly FieldName[] = [
  'PORT',
  'SVC_DATABASE_URL',
  'SVC_JWT_SECRET',
  'SVC_PUBLIC_URL',
  'SVC_RATE_LIMIT_GENERAL',
  'SVC_RATE_LIMIT_WORKSPACE',
  'SVC_RATE_LIMIT_CONSOLE',
  'SVC_RATE_LIMIT_BULK',
  'SVC_RATE_LIMIT_BULK_ESTIMATE',
  'SVC_RATE_LIMIT_AUTH',
  'SVC_RATE_LIMIT_ANONYMOUS',
  'SVC_RATE_LIMIT_FAILED_AUTH',
  'SVC_RATE_LIMIT_LOGIN_ALL',
  'SVC_RATE_LIMIT_SIGNUP_ALL',
  'SVC_API_KEYS_MAX',
  'SVC_WEBHOOKS_MAX',
  'SVC_WEBHOOKS_PER_HOST_MAX',
  'SVC_CONTACTS_MAX',
  'SVC_TEST_MESSAGES_PER_DAY',
  'SVC_TEST_BYTES_PER_DAY',
  'SVC_TEST_DELIVERIES_PER_DAY',
  'SVC_TEST_DELIVERIES_PER_SECOND',
  'SVC_CONSOLE',
  'SVC_TRUST_PROXY',
  'SVC_OVERLOAD_REQUESTS',
  'SVC_OVERLOAD_DELAY_MS',
  'SVC_CONNECTIONS_MAX',
  'SVC_LISTEN_BACKLOG',
  'SVC_WEBHOOK_ALLOW_HTTP',
  'SVC_WEBHOOK_ALLOW_NETS',
  'SVC_WEBHOOK_DNS',
  'SVC_BULK_RECIPIENTS_MAX',
  'SVC_ATTACHMENTS_MAX_MB',
  'SVC_SIGNUP_CREDITS',
  'SVC_SIGNUP_CREDITS_ON',
  'SVC_SIGNUP_DAILY_LIMIT',
  'SVC_LOW_BALANCE',
  'SVC_RETENTION_DAYS',
  'SVC_HISTORY_DAYS',
  'SVC_LEDGER_DAYS',
  'SVC_PARTITIONS_AHEAD',
  'SVC_AUDIT_RETENTION_DAYS',
  'SVC_CREDIT_PACKAGES',
  'SVC_METRICS_LISTEN',
  'SVC_LOG_LEVEL',
]

/**
 * Reads the environment.
 * @throws ConfigError for the first setting that is wrong.
 */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const read = (name: string) => env[name]?.trim() || undefined
  const listen_fd = inheritedSocket(env)
  const fields = readFields(read)
  assertLedgerDays(fields)
  return {
    ...fields,
    listen_fd,
    backups: readBackups(read, fields),
    unused_backup_settings: unusedBackupSettings(read, fields),
    stripe: readStripe(read),
    oidc: readOidc(read),
    providers: readProviderSettings(read),
    ...readSecretsSettings(read),
    ...readSpendSettings(read),
  }
}

/** @throws ConfigError unless messages are removed before their ledger entries. */
function assertLedgerDays({ ledger_days, history_days }: Fields): void {
  if (ledger_days === null) return
  if (history_days === null) {
    throw new ConfigError(
      'SVC_LEDGER_DAYS needs SVC_HISTORY_DAYS: only the entries of removed messages are folded',
    )
  }
  if (ledger_days < history_days) {
    throw new ConfigError(
      `SVC_LEDGER_DAYS must be at least SVC_HISTORY_DAYS (${history_days}), got ${ledger_days}`,
    )
  }
}

/** Reads the settings that have their own field. */
function readFields(read: Read): Fields {
  const value: Value = (name) => {
    const text = read(name)
    const derive = text === undefined ? DERIVED[name as DerivedName] : undefined
    return (derive ? derive(value) : readSetting(name, text)) as ValueOf<typeof name>
  }
  const fields: Record<string, unknown> = {}
  for (const [name, path] of fieldPaths()) {
    const [group = '', key] = path.split('.')
    if (key === undefined) fields[group] = value(name)
    else fields[group] = { ...(fields[group] as object | undefined), [key]: value(name) }
  }
  return fields as Fields
}

/** The place in `Config` of each setting that has its own field, in the order in which a start checks the settings. */
function fieldPaths(): Map<FieldName, string> {
  const paths = SETTINGS.flatMap(({ env, field }): [FieldName, string][] =>
    field === null ? [] : [[env as FieldName, field]],
  )
  const byName = new Map(paths)
  return new Map([
    ...CHECKED_FIRST.map((name) => [name, byName.get(name) ?? ''] as const),
    ...paths,
  ])
}

/** Returns `http://host:port`, with an IPv6 address in brackets. */
export function urlOf(host: string, port: number): string {
  return `http://${isIP(host) === 6 ? `[${host}]` : host}:${port}`
}

function times({ max, window_s }: RateLimit, factor: number): RateLimit {
  return { max: max * factor, window_s }
}

/** The descriptor of the first socket that systemd passes. */
const FIRST_SOCKET = 3

/**
 * The descriptor of the listening socket that this process got from its parent; null for none. The parent keeps the
 * socket open while the service restarts, so that clients wait meanwhile and are not refused. Source: sd_listen_fds(3);
 * LISTEN_PID names the process that the socket is for.
 * @throws ConfigError for several sockets: the service listens on one.
 */
function inheritedSocket(env: NodeJS.ProcessEnv): number | null {
  // One of several processes uses the socket of the process that started it.
  const pid = isOneOfSeveral ? process.ppid : process.pid
  if (env.LISTEN_FDS === undefined || Number(env.LISTEN_PID) !== pid) return null
  if (env.LISTEN_FDS === '1') return FIRST_SOCKET
  throw new ConfigError(
    `LISTEN_FDS must be 1: svc listens on a single socket, got "${env.LISTEN_FDS}"`,
  )
}

/** The keys that encrypt the secrets of the database. */
interface SecretsSettings {
  /** The first key encrypts, and all keys decrypt. Without a key, secrets are stored as plain text. */
  secrets_keys: readonly string[]
  /** The file of the keys if every user of the machine can read it; null otherwise. */
  open_secrets_key_file: string | null
}

const KEY = 'SVC_SECRETS_KEY'
const FILE = 'SVC_SECRETS_KEY_FILE'

/** The maximum size of the file; sixteen keys take about 1 KB. */
const FILE_BYTES_MAX = 16 * 1024

/** The permissions of users other than the owner and the group. */
const OTHERS = 0o007

/**
 * Reads the keys from the variable, separated by commas, or from the file, one key a line.
 * @throws ConfigError that names the variable and never shows a value.
 */
function readSecretsSettings(read: Read): SecretsSettings {
  const [text, file] = [read(KEY), read(FILE)]
  if (text !== undefined && file !== undefined) {
    throw new ConfigError(`${KEY} and ${FILE} are both set: set one of them`)
  }
  if (file !== undefined) return fromFile(resolve(file))
  return {
    secrets_keys: text === undefined ? [] : keysOf(KEY, text),
    open_secrets_key_file: null,
  }
}

function fromFile(path: string): SecretsSettings {
  try {
    const { size, mode } = statSync(path)
    if (size > FILE_BYTES_MAX) throw new ConfigError(`${FILE}: the file is not a list of keys`)
    const isOpen = process.platform !== 'win32' && (mode & OTHERS) !== 0
    return {
      secrets_keys: keysOf(FILE, readFileSync(path, 'utf8')),
      open_secrets_key_file: isOpen ? path : null,
    }
  } catch (error) {
    if (error instanceof ConfigError) throw error
    const { code = 'unreadable' } = error as NodeJS.ErrnoException
    throw new ConfigError(`${FILE}: the file cannot be read (${code})`)
  }
}

function keysOf(name: string, text: string): string[] {
  const keys = text.split(/[,\n]/).flatMap((part) => part.trim() || [])
  if (keys.length === 0) throw new ConfigError(`${name} holds no key`)
  try {
    readSecretsKeys(keys)
    return keys
  } catch (error) {
    throw new ConfigError(`${name}: ${(error as Error).message}`)
  }
}

/** Prices, and the rules that protect credits from misuse. */
interface SpendSettings {
  /** The prices that differ from the specification. */
  prices: Partial<Prices>
  /** Null if no list of countries is set. */
  countries: CountryRule | null
  /** Null if numbers in sequence are not counted. */
  sequence_limit: SequenceLimit | null
}

/**
 * Reads the variables of spend protection.
 * @throws ConfigError for the first wrong variable.
 */
function readSpendSettings(read: Read): SpendSettings {
  function readBy<T>(name: string, takes: string, reader: (text: string) => T): T | null {
    const text = read(name)
    if (text === undefined) return null
    try {
      return reader(text)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      throw new ConfigError(`${name} must be ${takes}${error.message}`)
    }
  }
  const allowed = readBy('SVC_ALLOWED_COUNTRIES', COUNTRIES, readCountries)
  const denied = readBy('SVC_DENIED_COUNTRIES', COUNTRIES, readCountries)
  return {
    prices: readBy('SVC_PRICES', 'prices of channels as JSON: ', readPrices) ?? {},
    countries: allowed || denied ? { allowed, denied: denied ?? [] } : null,
    sequence_limit: readBy('SVC_SEQUENCE_LIMIT', '', readSequenceLimit),
  }
}

const COUNTRIES = 'two-letter codes of countries with numbers of their own, for example TZ,KE: '

/** The account at Stripe, and the secrets that sign its notifications. */
interface StripeSettings {
  secret_key: string
  /** There are several while a secret is replaced; all of them are valid. */
  webhook_secrets: string[]
  /** The address of a proxy, or of a simulated Stripe in a trial. */
  api_url?: string
}

const STRIPE: readonly Variable[] = [
  { name: 'STRIPE_SECRET_KEY', fault: secretKeyFault },
  { name: 'STRIPE_WEBHOOK_SECRET', fault: webhookSecretFault },
]

const STRIPE_API_URL = 'STRIPE_API_URL'

/**
 * Reads the variables of Stripe; null if none is set.
 * @throws ConfigError for the first variable that is wrong, or that is missing while another is set.
 */
function readStripe(read: Read): StripeSettings | null {
  const [secret_key, secrets] = readSet(STRIPE, read)
  const api_url = read(STRIPE_API_URL)
  if (secret_key === undefined || secrets === undefined) {
    if (api_url === undefined) return null
    throw new ConfigError(
      `STRIPE_SECRET_KEY must be set too: ${STRIPE_API_URL} alone is half a set`,
    )
  }
  const settings = { secret_key, webhook_secrets: itemsOf(secrets) }
  if (api_url === undefined) return settings
  if (isSafe(api_url)) return { ...settings, api_url }
  throw new ConfigError(
    `${STRIPE_API_URL} must be an https URL without a path, or http on this machine: the secret key is sent there`,
  )
}

function isSafe(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url?.pathname !== '/' || url.search || url.hash || url.username) return false
  const isHere = ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname)
  return url.protocol === 'https:' || (url.protocol === 'http:' && isHere)
}

function secretKeyFault(text: string): string | null {
  if (/^(sk|rk)_(test|live)_[A-Za-z0-9_]+$/.test(text)) return null
  const takes = 'must be a secret key (sk_…) or a restricted one (rk_…)'
  if (text.startsWith('pk_')) {
    return `${takes}, got a publishable key (pk_…): the secret one stands beside it at Stripe, under Developers, API keys`
  }
  if (text.startsWith('whsec_')) {
    return `${takes}, got a signing secret (whsec_…): that one belongs in STRIPE_WEBHOOK_SECRET`
  }
  return `${takes} of Stripe, for example sk_test_…`
}

function webhookSecretFault(text: string): string | null {
  const items = itemsOf(text)
  if (items.length > 0 && items.every((item) => /^whsec_[A-Za-z0-9+/=_-]+$/.test(item))) return null
  const takes = 'must be the signing secret of the webhook endpoint at Stripe (whsec_…)'
  const isKey = items.some((item) => /^[srp]k_/.test(item))
  return isKey ? `${takes}, got an API key` : `${takes}, or several with commas between them`
}
