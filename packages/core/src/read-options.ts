import { Resolver } from 'node:dns'
import * as z from 'zod'
import { issueText } from './contract/endpoints/issue-text.ts'
import { parseCredits, type Units, units } from './contract/fields/units.ts'
import { LIMITS, QUOTAS } from './contract/limits.ts'
import { CHANNELS } from './contract/resources/content.ts'
import { soldPackages } from './contract/resources/credit-packages.ts'
import type { CoreOptions } from './core-options.ts'
import { SEQUENCE_LIMITS } from './messages/sequence-detector.ts'
import { COUNTRIES, createPricing, DEFAULT_PRICES, type Prices } from './prices/price.ts'

import { LEDGER_DAYS_MIN, RETENTION_DAYS_MAX, RETENTION_DAYS_MIN } from './retention/retention.ts'
import { readSecretsKeys } from './secrets/keys.ts'
import { createAddressCheck } from './webhooks/target.ts'

/** Each thread has its own heap and its own connections. */
const THREADS_MAX = 64

/** With a shorter lease, nearly every call would outlive it. */
const LEASE_MIN_MS = 100
/** For this time the work of a killed process waits. */
const LEASE_MAX_MS = 60 * 60_000

const ANSWER_MIN_MS = 100
const ANSWER_MAX_MS = 10 * 60_000

/** A text of this length is not a text of a person any more. */
const TEXT_MAX = LIMITS.sms_text_length

/** Whole numbers. The rule names the range and the wrong number, which is never a secret. */
function whole(least: number, most: number) {
  return z.custom<number>(
    (value) => Number.isInteger(value) && Number(value) >= least && Number(value) <= most,
    {
      error: ({ input }) => `must be a whole number from ${least} to ${most}, got ${shown(input)}`,
    },
  )
}

/** Texts are not shown, because they may be secrets. */
function shown(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return `${value}`
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

/** Decimal credits from 0. */
const credits = z.custom<string>(
  (value) => (parsed(() => parseCredits(value as string), typeof value === 'string') ?? -1) >= 0,
  'must be a decimal text of credits from "0", with at most six decimals, for example "12.5"',
)

/** An object with these functions. */
function having(...names: readonly string[]) {
  return z.custom<object>(
    (value) => names.every((name) => typeof Object(value)[name] === 'function'),
    `must be an object with the ${names.length === 1 ? 'function' : 'functions'} ${names.join(', ')}`,
  )
}

/** `createPricing` checks the amounts and the prefixes. */
const price = z.custom<string | object>(
  (value) => typeof value === 'string' || (typeof value === 'object' && value !== null),
  'must be a text of credits, or an object of prefixes',
)
const callable = z.custom<() => unknown>(
  (value) => typeof value === 'function',
  'must be a function',
)
const countries = z.array(
  z.custom<string>((code) => COUNTRIES.has(code as string), {
    error: () => 'must be a two-letter code of a country with numbers of its own, for example TZ',
  }),
)
const network = z.custom<string>(
  (value) =>
    parsed(() => createAddressCheck([value as string]), typeof value === 'string') !== null,
  'must be a network, for example 10.0.0.0/8',
)
const nameServer = z.custom<string>(
  (value) =>
    parsed(
      () => new Resolver().setServers([value as string]) ?? true,
      typeof value === 'string',
    ) !== null,
  'must be the address of a DNS server, for example 10.0.0.2 or 10.0.0.2:5353',
)

const MB = 1024 * 1024
const REPLICAS_MAX = 16
const PARTITIONS_AHEAD_MAX = 24
const REPLICA_LAG_MAX_MS = 60_000

/** One check for each option. Those that `readOptions` and `installProviders` read further are only of the right type. */
const CHECKS = {
  database_url: z.string().min(1),
  database_direct_url: z.string().min(1).optional(),
  database_replica_urls: z.array(z.string().min(1)).max(REPLICAS_MAX).optional(),
  database_replica_max_lag_ms: whole(1, REPLICA_LAG_MAX_MS).optional(),
  durability: z.enum(['disk', 'none']).optional(),
  secrets_keys: z.array(z.string()).optional(),
  require_secrets_keys: z.boolean().optional(),
  accept_any_password: z.boolean().optional(),
  prices: z.strictObject(eachOf(CHANNELS, price.optional())).optional(),
  countries: z.strictObject({ allowed: countries.nullable(), denied: countries }).nullish(),
  sequence_limit: z
    .strictObject({
      max: whole(...SEQUENCE_LIMITS.max),
      window_s: whole(...SEQUENCE_LIMITS.window_s),
    })
    .nullish(),
  quotas: z
    .strictObject(eachOf(Object.keys(QUOTAS), whole(1, Number.MAX_SAFE_INTEGER).optional()))
    .optional(),
  bulk_recipients_max: whole(1, LIMITS.bulk_recipients_max).optional(),
  attachments_max_mb: whole(1, LIMITS.email_attachments_bytes_max / MB).optional(),
  retention_days: whole(RETENTION_DAYS_MIN, RETENTION_DAYS_MAX).nullish(),
  history_days: whole(RETENTION_DAYS_MIN, RETENTION_DAYS_MAX).nullish(),
  ledger_days: whole(LEDGER_DAYS_MIN, RETENTION_DAYS_MAX).nullish(),
  audit_retention_days: whole(RETENTION_DAYS_MIN, RETENTION_DAYS_MAX).optional(),
  verification_retention_days: whole(1, RETENTION_DAYS_MAX).optional(),
  partitions_ahead: whole(1, PARTITIONS_AHEAD_MAX).optional(),
  signup_credits: credits.optional(),
  signup_credits_on: z.enum(['signup', 'verification']).optional(),
  signup_daily_limit: credits.nullish(),
  low_balance: credits.nullish(),
  credit_packages: soldPackages.optional(),
  payments: having('open', 'read', 'look', 'refund').optional(),
  reply_texts: z
    .strictObject(eachOf(['stop', 'start', 'help'], z.string().max(TEXT_MAX).nullish()))
    .optional(),
  webhook_targets: z
    .strictObject({
      allow_http: z.boolean(),
      allow_nets: z.array(network).optional(),
      dns: z.union([z.literal('system'), z.array(nameServer)]).nullish(),
      deadline_ms: whole(1, LIMITS.webhook_deadline_ms).optional(),
    })
    .optional(),
  domains_dns: z.array(nameServer).optional(),
  providers: z.array(z.unknown()).optional(),
  public_url: callable.optional(),
  console_url: callable.optional(),
  brand: z
    .string()
    .regex(/^[^\p{Cc}]{1,60}$/u, 'must be a name of 1 to 60 characters, without control characters')
    .optional(),
  mailer: having('send').optional(),
  threads: whole(0, THREADS_MAX).optional(),
  lease_ms: whole(LEASE_MIN_MS, LEASE_MAX_MS).optional(),
  answer_max_ms: whole(ANSWER_MIN_MS, ANSWER_MAX_MS).optional(),
  runtime: having('now', 'elapsed', 'id', 'bytes', 'random')
    .and(z.looseObject({ log: having('debug', 'info', 'warn', 'error') }))
    .optional(),
  events: z.boolean().optional(),
  onFailure: callable.optional(),
} satisfies Record<keyof CoreOptions, z.ZodType>

const SCHEMA = z.strictObject(CHECKS)

/**
 * The options with their defaults, checked and converted. Nothing is opened.
 * @throws RangeError that names the wrong option, and the values that it takes.
 */
export function readOptions(options: CoreOptions) {
  assertOptions(options)
  return {
    lowBalance: optionalCredits(options.low_balance),
    dailyLimit: optionalCredits(options.signup_daily_limit),
    signupCredits: optionalCredits(options.signup_credits) ?? units(0),
    recipients_max: options.bulk_recipients_max ?? LIMITS.bulk_recipients,
    attachments_max_bytes:
      options.attachments_max_mb === undefined
        ? LIMITS.email_attachments_bytes
        : options.attachments_max_mb * MB,
    quotas: withDefaults(QUOTAS, options.quotas),
    priceOf: ofOption('prices', () =>
      createPricing(withDefaults<Prices>(DEFAULT_PRICES, options.prices)),
    ),
    keys: ofOption('secrets_keys', () => readSecretsKeys(options.secrets_keys ?? [])),
    threads: options.threads ?? 1,
    targets: options.webhook_targets ?? { allow_http: false },
    brand: options.brand ?? 'svc',
    public_url: checkedUrl('public_url', options.public_url ?? (() => 'http://127.0.0.1:3000')),
    console_url: options.console_url ? checkedUrl('console_url', options.console_url) : null,
    retention_days: options.retention_days ?? null,
    history_days: options.history_days ?? null,
    ledger_days: ledgerDays(options),
  }
}

/** @throws RangeError unless messages are removed before their entries. */
function ledgerDays({ ledger_days = null, history_days = null }: CoreOptions): number | null {
  if (ledger_days === null) return null
  if (history_days !== null && history_days <= ledger_days) return ledger_days
  throw new RangeError(
    `ledger_days: must be at least history_days, because entries are folded after their messages were removed; got ${ledger_days} and ${history_days ?? 'no history_days'}`,
  )
}

function assertOptions(options: CoreOptions): void {
  const result = SCHEMA.safeParse(options, { error: ruleOf })
  const issues = result.error?.issues ?? []
  // A misspelled name explains the missing one.
  const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0]
  if (!issue) return
  const place = placeOf(issue.path)
  if (issue.code === 'unrecognized_keys') throw new RangeError(issue.message)
  throw new RangeError(`${place === '' ? 'the options' : place}: ${issue.message}`)
}

/** Words an issue whose check has no rule of its own. */
function ruleOf(issue: z.core.$ZodRawIssue): string {
  if (issue.code === 'unrecognized_keys') {
    return issueText(issue).replace('Unknown field', 'Unknown option')
  }
  if ((issue.path ?? []).length === 0) return 'must be an object'
  if (issue.input === undefined) return 'is missing'
  if (issue.code === 'invalid_union') return 'must be "system" or a list of addresses'
  // The text begins with the name of the value, which the caller of this function writes itself.
  const text = issueText(issue)
  const starts = [text.indexOf(' must '), text.indexOf(' is not ')].filter((at) => at >= 0)
  return starts.length === 0 ? 'is not valid' : text.slice(Math.min(...starts) + 1)
}

/** @example placeOf(['providers', 1, 'host']) // 'providers[1].host' */
function placeOf(path: readonly PropertyKey[]): string {
  return path
    .map((part, i) =>
      typeof part === 'number' ? `[${part}]` : `${i > 0 ? '.' : ''}${String(part)}`,
    )
    .join('')
}

/** The same check for each of these names. */
function eachOf<Check extends z.ZodType>(names: readonly string[], check: Check) {
  return Object.fromEntries(names.map((name) => [name, check]))
}

/** The result of `read`, or null if it throws or `may_read` is false. */
function parsed<T>(read: () => T, may_read: boolean): T | null {
  try {
    return may_read ? read() : null
  } catch {
    return null
  }
}

/** Decimal credits as units; null if there is no text. */
function optionalCredits(text: string | null = null): Units | null {
  return text === null ? null : parseCredits(text)
}

/** The result of `read`; its errors get the option's name. */
function ofOption<T>(option: keyof CoreOptions, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw error instanceof RangeError ? new RangeError(`${option}: ${error.message}`) : error
  }
}

/** An undefined member gets its default. */
function withDefaults<T extends object>(defaults: T, given: Partial<T> = {}): T {
  const members = Object.entries(given).filter(([, value]) => value !== undefined)
  return { ...defaults, ...Object.fromEntries(members) }
}

/** Checks each result, because a program knows its address only when it listens. */
function checkedUrl(name: string, given: () => string): () => string {
  return () => {
    const url: unknown = given()
    if (typeof url === 'string' && /^https?:\/\/.*[^/]$/.test(url) && URL.canParse(url)) return url
    throw new RangeError(
      `${name}: must return an http or https URL without a slash at its end, got ${JSON.stringify(url)}`,
    )
  }
}
