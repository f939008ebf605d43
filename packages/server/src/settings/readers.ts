import { isIP } from 'node:net'
import { resolve } from 'node:path'
import {
  type CreditPackage,
  LIMITS,
  parseCredits,
  type RateLimit,
  readCreditPackages,
} from '@svc/core/contract'
import { serversOf } from '@svc/core/operate'
import { SETTINGS, type ServiceRows, type Setting, type SettingType } from './table.ts'
import { ConfigError, itemsOf } from './variables.ts'

/** A host and a port to listen on. */
export interface Address {
  host: string
  port: number
}

/** An address where programs send mails by SMTP. */
export interface SmtpAddress extends Address {
  /** TLS from the first byte; otherwise clients start it with STARTTLS. */
  implicit_tls: boolean
}

const SMTPS_PORT = 465

const WHOLE_MAX = 9_999_999

const MINUTE_MS = 60_000
const UNITS_MS: Readonly<Record<string, number>> = {
  m: MINUTE_MS,
  h: 60 * MINUTE_MS,
  d: 24 * 60 * MINUTE_MS,
}
const DURATION_MAX_MS = 31 * 24 * 60 * MINUTE_MS

/**
 * The readers of the types of settings. Each returns the value of a text.
 * @throws ConfigError for a text that is not a value of the type.
 */
const READERS = {
  text: (text: string) => text,
  brand: readBrand,
  list: itemsOf,
  json: (text: string) => text,
  path: (text: string) => resolve(text),
  json_or_path: (text: string) => text,
  database: readDatabaseUrl,
  postgres: readPostgresUrl,
  postgres_list: (text: string, setting: Setting) =>
    itemsOf(text).map((url) => readPostgresUrl(url, setting)),
  url: readUrl,
  port: readPort,
  host_port: readHostPort,
  boolean: (text: string, setting: Setting) =>
    readChoice(text, setting, ['true', 'false']) === 'true',
  choice: (text: string, setting: Setting) => readChoice(text, setting, setting.choices ?? []),
  whole: readWhole,
  days: readDays,
  processes: (text: string, setting: Setting): number | 'auto' =>
    text === 'auto' ? text : readWhole(text, setting),
  credits: readCredits,
  duration: readDuration,
  rate: readRate,
  smtp_addresses: readSmtpAddresses,
  networks: readNetworks,
  countries: itemsOf,
  dns_servers: readDnsServers,
  session_secret: readSessionSecret,
  credit_packages: readPackages,
} satisfies Record<SettingType, (text: string, setting: Setting) => unknown>

/** The texts for lists that are not set. Without such a text, a choice is undefined and any other setting is null. */
const EMPTY: Partial<Record<SettingType, string>> = {
  networks: '',
  postgres_list: '',
  smtp_addresses: 'off',
  credit_packages: '[]',
}

type Unset<Type extends SettingType> = Type extends
  | 'networks'
  | 'postgres_list'
  | 'smtp_addresses'
  | 'credit_packages'
  ? never
  : Type extends 'choice'
    ? undefined
    : null

type Read<Row extends { type: SettingType }> = Row extends { choices: readonly (infer Choice)[] }
  ? Choice
  : ReturnType<(typeof READERS)[Row['type']]>

/** The names of the settings that the service reads. */
export type SettingName = keyof ServiceRows

/** The value of a setting, from its row in the table. */
export type ValueOf<Name extends SettingName> = ServiceRows[Name] extends
  | { default: string }
  | { is_derived: true }
  ? Read<ServiceRows[Name]>
  : Read<ServiceRows[Name]> | Unset<ServiceRows[Name]['type']>

const BY_NAME = new Map(SETTINGS.map((setting) => [setting.env, setting]))

/**
 * The value of a setting with this text, or its default.
 * @throws ConfigError for a text that is not a value of the setting.
 */
export function readSetting<Name extends SettingName>(
  name: Name,
  text?: string | undefined,
): ValueOf<Name> {
  const setting = BY_NAME.get(name)
  if (!setting) throw new Error(`there is no setting ${name}`)
  const { type, default_text } = setting
  const meant = text ?? default_text ?? EMPTY[type]
  if (meant !== undefined) return READERS[type](meant, setting) as ValueOf<Name>
  return (type === 'choice' ? undefined : null) as ValueOf<Name>
}

function readBrand(text: string, { env }: Setting): string {
  if (/^[^\p{Cc}]{1,60}$/u.test(text)) return text
  throw new ConfigError(`${env} must be a name of 1 to 60 characters, without control characters`)
}

function readPort(text: string, { env }: Setting): number {
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port
  throw new ConfigError(`${env} must be a number from 0 to 65535, got "${text}"`)
}

/** Reads `host:port`, with an IPv6 address in brackets. */
function readHostPort(text: string, { env, example }: Setting): Address {
  const [, bracketed, plain, digits] = /^(?:\[([^\]]+)\]|([^:[\]\s/]+)):(\d{1,5})$/.exec(text) ?? []
  const host = bracketed ?? plain ?? ''
  const isHost = bracketed === undefined ? host !== '' : isIP(host) === 6
  if (isHost && Number(digits) <= 65_535) return { host, port: Number(digits) }
  throw new ConfigError(`${env} must be host:port, for example ${example}, got "${text}"`)
}

function readSmtpAddresses(text: string, setting: Setting): SmtpAddress[] {
  if (text === 'off') return []
  return itemsOf(text).map((item) => {
    const [, scheme, rest = ''] = /^(smtps?:\/\/)?(.*)$/.exec(item) ?? []
    const address = readHostPort(rest, setting)
    return {
      ...address,
      implicit_tls: scheme ? scheme === 'smtps://' : address.port === SMTPS_PORT,
    }
  })
}

function readDatabaseUrl(url: string, { env }: Setting): string {
  if (url.startsWith('file:') && url.length > 'file:'.length) return url
  if (isPostgresUrl(url)) return url
  // The rest of the URL may hold a password.
  throw new ConfigError(
    `${env} must be file:<path> or postgres://…, for example file:./data/svc.db`,
  )
}

/** Whether each server of the URL has an address that can be read. */
function isPostgresUrl(url: string): boolean {
  return serversOf(url).every((one) => /^postgres(ql)?:\/\/./.test(one) && URL.canParse(one))
}

function readPostgresUrl(url: string, { env }: Setting): string {
  if (isPostgresUrl(url)) return url
  // The URL may contain a password.
  throw new ConfigError(`${env} must be postgres://user:password@host/database`)
}

function readUrl(text: string, { env }: Setting): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url && (url.protocol === 'http:' || url.protocol === 'https:'))
    return text.replace(/(?<!\/)\/+$/, '')
  throw new ConfigError(`${env} must be an http or https URL, got "${text}"`)
}

function readSessionSecret(text: string, { env }: Setting): string {
  if (Buffer.byteLength(text) >= LIMITS.jwt_secret_bytes) return text
  throw new ConfigError(`${env} must be at least ${LIMITS.jwt_secret_bytes} bytes long`)
}

function readChoice(text: string, { env }: Setting, choices: readonly string[]): string {
  if (choices.includes(text)) return text
  throw new ConfigError(`${env} must be one of ${choices.join(', ')}, got "${text}"`)
}

function readWhole(text: string, { env, max }: Setting): number {
  const most = max ?? WHOLE_MAX
  if (/^[1-9]\d{0,11}$/.test(text) && Number(text) <= most) return Number(text)
  throw new ConfigError(`${env} must be a whole number from 1 to ${most}, got "${text}"`)
}

function readDays(text: string, { env, min, max }: Setting): number {
  const days = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (days >= (min ?? 1) && days <= (max ?? WHOLE_MAX)) return days
  throw new ConfigError(
    `${env} must be a whole number of days from ${min} to ${max}, got "${text}"`,
  )
}

function readDuration(text: string, { env }: Setting): number {
  const [, amount, unit = ''] = /^(\d{1,5})([mhd])$/.exec(text) ?? []
  const duration_ms = Number(amount) * (UNITS_MS[unit] ?? Number.NaN)
  if (duration_ms >= MINUTE_MS && duration_ms <= DURATION_MAX_MS) return duration_ms
  throw new ConfigError(`${env} must be 1m to 31d, for example 24h, got "${text}"`)
}

function readRate(text: string, { env }: Setting): RateLimit {
  const [, max, window_s] = /^(\d{1,9})\/(\d{1,7})$/.exec(text) ?? []
  if (Number(max) > 0 && Number(window_s) > 0)
    return { max: Number(max), window_s: Number(window_s) }
  throw new ConfigError(`${env} must be count/seconds, for example 100/60, got "${text}"`)
}

function readCredits(text: string, { env }: Setting): string {
  try {
    if (parseCredits(text) >= 0) return text
  } catch {
    // The error below names the value.
  }
  throw new ConfigError(`${env} must be a number of credits, for example 100 or 0.5, got "${text}"`)
}

function readPackages(json: string, { env }: Setting): CreditPackage[] {
  try {
    return readCreditPackages(json)
  } catch (error) {
    throw new ConfigError(`${env} must be a JSON list of packages: ${(error as Error).message}`)
  }
}

function readNetworks(text: string, { env }: Setting): string[] {
  const networks = itemsOf(text)
  for (const network of networks) {
    // An address with a zone (fe80::1%eth0) has no meaning in a header, and /0 would trust every client.
    const [, address = '', prefix = '1'] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(network) ?? []
    const bits = { 0: 0, 4: 32, 6: 128 }[isIP(address)] ?? 0
    if (Number(prefix) >= 1 && Number(prefix) <= bits) continue
    throw new ConfigError(
      `${env} must list CIDR networks, for example 10.0.0.0/8, got "${network}"`,
    )
  }
  return networks
}

function readDnsServers(text: string, { env }: Setting): 'system' | string[] {
  if (text === 'system') return text
  const servers = text.split(',').map((part) => part.trim())
  for (const server of servers) {
    const [, v4, v6 = '', port] = /^(?:([\d.]+)|\[(.+)\]):(\d{1,5})$/.exec(server) ?? []
    if (isIP(server) || (isIP(v4 ?? v6) && Number(port) >= 1 && Number(port) <= 65_535)) continue
    throw new ConfigError(
      `${env} must be system, or addresses of DNS servers, for example 10.0.0.2,10.0.0.3:5353, got "${server}"`,
    )
  }
  return servers
}
