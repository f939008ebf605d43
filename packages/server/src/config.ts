import { isIP } from 'node:net'
import { join, resolve } from 'node:path'
import {
  AUDIT_DAYS_DEFAULT,
  type ProviderSettings,
  RETENTION_DAYS_MAX,
  RETENTION_DAYS_MIN,
  SIGNUP_CREDITS_ON,
  type SignupCreditsOn,
} from '@svc/core'
import {
  type CreditPackage,
  LIMITS,
  parseCredits,
  QUOTAS,
  type Quotas,
  RATES,
  type RateLimit,
  readCreditPackages,
} from '@svc/core/contract'
import { type BackupSettings, readBackups } from './backup-settings.ts'
import { ConfigError } from './config-error.ts'
import { CONNECTIONS_MAX, LISTEN_BACKLOG } from './connections.ts'
import { inheritedSocket } from './inherited-socket.ts'
import { type Load, OVERLOAD } from './load.ts'
import { readMetricsListen } from './metrics/listen-address.ts'
import type { Address } from './metrics/metrics-server.ts'
import { readProviderSettings } from './provider-settings.ts'
import { readSecretsSettings, type SecretsSettings } from './secrets-settings.ts'
import { readSpendSettings, type SpendSettings } from './spend-settings.ts'
import { readStripe, type StripeSettings } from './stripe-settings.ts'
import { readDns, type TargetSettings } from './webhook-targets.ts'

export { ConfigError }

/** What the operator set, checked and complete. Contract section 11. */
export interface Config extends SpendSettings, TargetSettings, SecretsSettings {
  host: string
  port: number
  /** The socket that the process was started with, listened on instead; null for none. */
  listen_fd: number | null
  /** Where `/metrics` is served; null for nowhere. */
  metrics_listen: Address | null
  data_dir: string
  database_url: string
  /** Signs the sessions: HS256 over its UTF-8 bytes. Null: the one that the database keeps. */
  jwt_secret: string | null
  public_url: string
  rates: Record<keyof typeof RATES, RateLimit>
  /** How much a workspace may have and use. */
  quotas: Quotas
  /** Networks of proxies whose `X-Forwarded-For` counts. */
  trust_proxy: string[]
  /** Beyond which load even sends are refused. */
  overload: Load
  /** How many connections are served at once, */
  connections_max: number
  /** and how many may wait until they are accepted. */
  listen_backlog: number
  /** How many recipients a bulk may have. */
  bulk_recipients_max: number
  /** Decimal credits. */
  signup_credits: string
  /** Undefined for what follows from whether mails are sent. */
  signup_credits_on: SignupCreditsOn | undefined
  /** Decimal credits a day; null for no such limit. */
  signup_daily_limit: string | null
  /** Decimal credits; null for never. */
  low_balance: string | null
  /** After how many days histories forget whom messages went to and what they said; null for never. */
  retention_days: number | null
  /** After how many days entries of the audit log are removed. */
  audit_retention_days: number
  /** What can be bought. */
  credit_packages: CreditPackage[]
  /** Who takes the payments; null for nobody. */
  stripe: StripeSettings | null
  /** Who carries messages, in the order in which they are tried. */
  providers: ProviderSettings[]
  /** The backups that it makes by itself; null for none. */
  backups: BackupSettings | null
  log_level: string
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']

/**
 * Reads the environment.
 * @throws ConfigError for the first setting that is wrong.
 */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const read = (name: string) => env[name]?.trim() || undefined
  const host = read('HOST') ?? '127.0.0.1'
  const port = readPort(read('PORT') ?? '3000')
  const data_dir = resolve(read('SVC_DATA_DIR') ?? 'data')
  const database_url = readDatabaseUrl(read('SVC_DATABASE_URL'), data_dir)
  return {
    host,
    port,
    listen_fd: inheritedSocket(env),
    data_dir,
    database_url,
    jwt_secret: readJwtSecret(read('SVC_JWT_SECRET')),
    public_url: readUrl(read('SVC_PUBLIC_URL') ?? urlOf(host, port)),
    rates: readRates(read),
    quotas: {
      api_keys: readWhole('SVC_API_KEYS_MAX', read, QUOTAS.api_keys),
      webhooks: readWhole('SVC_WEBHOOKS_MAX', read, QUOTAS.webhooks),
      webhooks_per_host: readWhole('SVC_WEBHOOKS_PER_HOST_MAX', read, QUOTAS.webhooks_per_host),
      contacts: readWhole('SVC_CONTACTS_MAX', read, QUOTAS.contacts),
      test_messages_per_day: readWhole(
        'SVC_TEST_MESSAGES_PER_DAY',
        read,
        QUOTAS.test_messages_per_day,
      ),
      test_bytes_per_day: readWhole(
        'SVC_TEST_BYTES_PER_DAY',
        read,
        QUOTAS.test_bytes_per_day,
        999_999_999_999,
      ),
    },
    trust_proxy: readNetworks('SVC_TRUST_PROXY', read('SVC_TRUST_PROXY')),
    overload: {
      requests: readWhole('SVC_OVERLOAD_REQUESTS', read, OVERLOAD.requests),
      delay_ms: readWhole('SVC_OVERLOAD_DELAY_MS', read, OVERLOAD.delay_ms),
    },
    connections_max: readWhole('SVC_CONNECTIONS_MAX', read, CONNECTIONS_MAX),
    listen_backlog: readWhole('SVC_LISTEN_BACKLOG', read, LISTEN_BACKLOG, 65_535),
    webhook_allow_http: readBoolean('SVC_WEBHOOK_ALLOW_HTTP', read('SVC_WEBHOOK_ALLOW_HTTP')),
    webhook_allow_nets: readNetworks('SVC_WEBHOOK_ALLOW_NETS', read('SVC_WEBHOOK_ALLOW_NETS')),
    webhook_dns: readDns('SVC_WEBHOOK_DNS', read('SVC_WEBHOOK_DNS')),
    bulk_recipients_max: readWhole(
      'SVC_BULK_RECIPIENTS_MAX',
      read,
      LIMITS.bulk_recipients,
      LIMITS.bulk_recipients_max,
    ),
    signup_credits: readCredits('SVC_SIGNUP_CREDITS', read('SVC_SIGNUP_CREDITS') ?? '0'),
    signup_credits_on: readSignupCreditsOn(read('SVC_SIGNUP_CREDITS_ON')),
    signup_daily_limit: readOptionalCredits('SVC_SIGNUP_DAILY_LIMIT', read),
    low_balance: readOptionalCredits('SVC_LOW_BALANCE', read),
    retention_days: readDays('SVC_RETENTION_DAYS', read('SVC_RETENTION_DAYS')),
    audit_retention_days:
      readDays('SVC_AUDIT_RETENTION_DAYS', read('SVC_AUDIT_RETENTION_DAYS')) ?? AUDIT_DAYS_DEFAULT,
    credit_packages: readPackages('SVC_CREDIT_PACKAGES', read('SVC_CREDIT_PACKAGES') ?? '[]'),
    metrics_listen: readMetricsListen(read('SVC_METRICS_LISTEN')),
    log_level: readChoice('SVC_LOG_LEVEL', read('SVC_LOG_LEVEL') ?? 'info', LOG_LEVELS),
    backups: readBackups(read, { data_dir, database_url }),
    stripe: readStripe(read),
    providers: readProviderSettings(read),
    ...readSecretsSettings(read),
    ...readSpendSettings(read),
  }
}

/** `http://host:port`, IPv6 in brackets. */
export function urlOf(host: string, port: number): string {
  return `http://${isIP(host) === 6 ? `[${host}]` : host}:${port}`
}

function readPort(text: string): number {
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port
  throw new ConfigError(`PORT must be a number from 0 to 65535, got "${text}"`)
}

function readDatabaseUrl(url: string | undefined, dataDir: string): string {
  if (url === undefined) return `file:${join(dataDir, 'svc.db')}`
  if (url.startsWith('file:') && url.length > 'file:'.length) return url
  if (/^postgres(ql)?:\/\/./.test(url) && URL.canParse(url)) return url
  // The rest of the URL may hold a password.
  throw new ConfigError(
    'SVC_DATABASE_URL must be file:<path> or postgres://…, for example file:./data/svc.db',
  )
}

function readJwtSecret(given: string | undefined): string | null {
  if (given === undefined) return null
  if (Buffer.byteLength(given) >= LIMITS.jwt_secret_bytes) return given
  throw new ConfigError(`SVC_JWT_SECRET must be at least ${LIMITS.jwt_secret_bytes} bytes long`)
}

function readUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url && (url.protocol === 'http:' || url.protocol === 'https:'))
    return text.replace(/(?<!\/)\/+$/, '')
  throw new ConfigError(`SVC_PUBLIC_URL must be an http or https URL, got "${text}"`)
}

/** A limit that is not set follows the one it belongs to, so that raising that one is enough. */
function readRates(read: (name: string) => string | undefined): Config['rates'] {
  const general = readRate('SVC_RATE_LIMIT_GENERAL', read, RATES.general)
  const bulk = readRate('SVC_RATE_LIMIT_BULK', read, RATES.bulk)
  const auth = readRate('SVC_RATE_LIMIT_AUTH', read, RATES.auth)
  const times = ({ max, window_s }: RateLimit, factor: number) => ({ max: max * factor, window_s })
  const ceiling = times(auth, RATES.login_all.max / RATES.auth.max)
  return {
    general,
    workspace: readRate(
      'SVC_RATE_LIMIT_WORKSPACE',
      read,
      times(general, RATES.workspace.max / RATES.general.max),
    ),
    bulk,
    bulk_estimate: readRate(
      'SVC_RATE_LIMIT_BULK_ESTIMATE',
      read,
      times(bulk, RATES.bulk_estimate.max / RATES.bulk.max),
    ),
    auth,
    anonymous: readRate('SVC_RATE_LIMIT_ANONYMOUS', read, RATES.anonymous),
    failed_auth: readRate('SVC_RATE_LIMIT_FAILED_AUTH', read, RATES.failed_auth),
    login_all: readRate('SVC_RATE_LIMIT_LOGIN_ALL', read, ceiling),
    signup_all: readRate('SVC_RATE_LIMIT_SIGNUP_ALL', read, ceiling),
  }
}

function readRate(
  name: string,
  read: (name: string) => string | undefined,
  otherwise: RateLimit,
): RateLimit {
  const text = read(name)
  if (text === undefined) return otherwise
  const [, max, window_s] = /^(\d{1,9})\/(\d{1,7})$/.exec(text) ?? []
  if (Number(max) > 0 && Number(window_s) > 0)
    return { max: Number(max), window_s: Number(window_s) }
  throw new ConfigError(`${name} must be count/seconds, for example 100/60, got "${text}"`)
}

function readWhole(
  name: string,
  read: (name: string) => string | undefined,
  otherwise: number,
  most = 9_999_999,
): number {
  const text = read(name)
  if (text === undefined) return otherwise
  if (/^[1-9]\d{0,11}$/.test(text) && Number(text) <= most) return Number(text)
  throw new ConfigError(`${name} must be a whole number from 1 to ${most}, got "${text}"`)
}

function readDays(name: string, text: string | undefined): number | null {
  if (text === undefined) return null
  const days = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (days >= RETENTION_DAYS_MIN && days <= RETENTION_DAYS_MAX) return days
  throw new ConfigError(
    `${name} must be a whole number of days from ${RETENTION_DAYS_MIN} to ${RETENTION_DAYS_MAX}, got "${text}"`,
  )
}

function readNetworks(name: string, text: string | undefined): string[] {
  const networks = (text ?? '').split(',').flatMap((part) => part.trim() || [])
  for (const network of networks) {
    // An address with a zone (fe80::1%eth0) means nothing in a header; to trust everybody (/0) is to trust nobody.
    const [, address = '', prefix = '1'] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(network) ?? []
    const bits = { 0: 0, 4: 32, 6: 128 }[isIP(address)] ?? 0
    if (Number(prefix) >= 1 && Number(prefix) <= bits) continue
    throw new ConfigError(
      `${name} must list CIDR networks, for example 10.0.0.0/8, got "${network}"`,
    )
  }
  return networks
}

function readBoolean(name: string, text = 'false'): boolean {
  return readChoice(name, text, ['true', 'false']) === 'true'
}

function readCredits(name: string, text: string): string {
  try {
    if (parseCredits(text) >= 0) return text
  } catch {
    // Said below.
  }
  throw new ConfigError(
    `${name} must be a number of credits, for example 100 or 0.5, got "${text}"`,
  )
}

function readOptionalCredits(
  name: string,
  read: (name: string) => string | undefined,
): string | null {
  const text = read(name)
  return text === undefined ? null : readCredits(name, text)
}

function readPackages(name: string, json: string): CreditPackage[] {
  try {
    return readCreditPackages(json)
  } catch (error) {
    throw new ConfigError(`${name} must be a JSON list of packages: ${(error as Error).message}`)
  }
}

function readSignupCreditsOn(text: string | undefined): SignupCreditsOn | undefined {
  if (text === undefined) return undefined
  return readChoice('SVC_SIGNUP_CREDITS_ON', text, SIGNUP_CREDITS_ON)
}

function readChoice<T extends string>(name: string, text: string, choices: readonly T[]): T {
  const found = choices.find((choice) => choice === text)
  if (found !== undefined) return found
  throw new ConfigError(`${name} must be one of ${choices.join(', ')}, got "${text}"`)
}
