import type { PaymentProvider } from './billing/payment.ts'
import type { CountryRule } from './channels/country-rule.ts'
import { createPricing, DEFAULT_PRICES, type Prices } from './channels/price.ts'
import { parseCredits, type Units, units } from './contract/fields/units.ts'
import { LIMITS, QUOTAS, type Quotas } from './contract/limits.ts'
import type { Mailer } from './contract/outside/mail.ts'
import type { CreditPackage } from './contract/resources/billing.ts'
import type { ReplyTexts } from './inbound/reply.ts'
import type { SequenceLimit } from './messages/sequence-detector.ts'
import type { ProviderOption } from './providers/install.ts'
import type { Runtime } from './runtime/runtime.ts'
import { readSecretsKeys } from './secrets/keys.ts'
import type { Durability } from './storage/database-url.ts'
import type { TargetPolicy } from './webhooks/target.ts'
import type { SignupCreditsOn } from './workspaces/verification.ts'

/** The options of `createCore`. Only `database_url` is required. */
export interface CoreOptions {
  /**
   * `file:/path/to/svc.db` (SQLite) or `postgres://…`. For tests, with `durability: 'none'`: `:memory:`, an empty database
   * that `close` deletes.
   */
  database_url: string
  /**
   * `disk`: an accepted message and its debit are on disk when `send` resolves. `none`, only with SQLite and only for
   * tests: commits are not flushed, and a stop of the machine may lose accepted messages or damage the database.
   * Default `disk`.
   */
  durability?: Durability | undefined
  /**
   * Keys that encrypt the secrets in the database, each 32 bytes as base64, base64url or 64 hex digits. The first key
   * encrypts, all keys decrypt. Default: no keys; the secrets are then stored as plain text.
   */
  secrets_keys?: readonly string[]
  /**
   * Whether opening fails while the database holds values that missing keys encrypted. Default true. False is only for
   * programs that read and write no secrets.
   */
  require_secrets_keys?: boolean
  /** Prices as decimal strings of credits. Default for each channel: the specification's price. */
  prices?: Partial<Prices>
  /** Countries to which messages may be sent. Default: all. */
  countries?: CountryRule | null
  /** Freezes a workspace that sends to more consecutive numbers than this. Default: no limit. */
  sequence_limit?: SequenceLimit | null
  /** Limits of what a workspace has and uses. Default for each: its value in `QUOTAS`. */
  quotas?: Partial<Quotas> | undefined
  /** Maximum recipients of a bulk, up to 10,000. Default 1,000. */
  bulk_recipients_max?: number | undefined
  /**
   * Age in days, 7 or more, at which recipients, contents and events are erased while this process dispatches. The ledger
   * is kept. Default: never.
   */
  retention_days?: number | null | undefined
  /** Age in days, 7 or more, at which audit entries are removed while this process dispatches. Default 365. */
  audit_retention_days?: number | undefined
  /** Credits of a new workspace, as a decimal string. Default 0. */
  signup_credits?: string
  /**
   * When a new workspace gets its credits: at signup, or at the first verification of its e-mail address. Default:
   * `verification` if mails to owners are really sent (`mailer`, or a provider of type `smtp`), otherwise `signup`.
   */
  signup_credits_on?: SignupCreditsOn | undefined
  /** Maximum credits that a new workspace spends on a day (UTC), as a decimal string. Default: no limit. */
  signup_daily_limit?: string | null
  /**
   * An owner without a threshold gets a mail when the credits fall below this decimal string; null: never. At its start,
   * dispatching writes this threshold to the accounts of these owners. Default: the accounts keep their thresholds.
   */
  low_balance?: string | null
  /** Credit packages that can be bought. Default: none. */
  credit_packages?: readonly CreditPackage[]
  /** Takes the payments. Without it every purchase fails. */
  payments?: PaymentProvider | undefined
  /** Replies to STOP, START and HELP. Default: English texts. */
  reply_texts?: Partial<ReplyTexts> | undefined
  webhook_targets?: TargetPolicy
  /**
   * The providers in the order in which they are tried: settings of built-in types, providers of `defineProvider`, and
   * modules of such providers. The sandbox serves the channels that none of them serves.
   */
  providers?: readonly ProviderOption[]
  /** Base URL of links in mails, without a slash at its end; called for each mail. Default `http://127.0.0.1:3000`. */
  public_url?: () => string
  /** Sends the mails to owners. Default: a provider of type `smtp`; without one, no mail is sent and `mails` shows them. */
  mailer?: Mailer
  /**
   * Threads for providers and webhooks. Default 1. With 0 all work is done in this thread, which a `runtime` with a
   * simulated clock needs.
   */
  threads?: number
  /**
   * Lease of claimed work in milliseconds; after it, another server takes the work over. Default: about a minute. A much
   * shorter lease is safe only with providers and receivers that answer at once.
   */
  lease_ms?: number | undefined
  /** Maximum time of a PostgreSQL operation in milliseconds before the caller gets an error. Default 10,000. */
  answer_max_ms?: number | undefined
  runtime?: Runtime
  /**
   * Whether the database stores every event for `on` and `events`, also events that no webhook gets. true begins with it
   * before the core opens, false ends it, for all processes. Default: unchanged; the first call of `on` or `events` begins
   * with it.
   */
  events?: boolean | undefined
  /** Called after a database failure that only a restart repairs; the process should end. */
  onFailure?: (error: Error) => void
}

/**
 * The options with their defaults, checked and converted.
 * @throws RangeError that names the wrong option.
 */
export function readOptions(options: CoreOptions) {
  return {
    lowBalance: optionalCredits('low_balance', options.low_balance),
    dailyLimit: optionalCredits('signup_daily_limit', options.signup_daily_limit),
    signupCredits: optionalCredits('signup_credits', options.signup_credits) ?? units(0),
    recipients_max: bulkRecipientsMax(options),
    quotas: quotasOf(options),
    priceOf: ofOption('prices', () => createPricing({ ...DEFAULT_PRICES, ...options.prices })),
    keys: ofOption('secrets_keys', () => readSecretsKeys(options.secrets_keys ?? [])),
    threads: options.threads ?? 1,
    targets: options.webhook_targets ?? { allow_http: false },
    public_url: options.public_url ?? (() => 'http://127.0.0.1:3000'),
    retention_days: options.retention_days ?? null,
  }
}

/** Decimal credits as units; null if there is no text. */
function optionalCredits(option: keyof CoreOptions, text: string | null = null): Units | null {
  return text === null ? null : ofOption(option, () => parseCredits(text))
}

/** The result of `read`; its errors get the option's name. */
function ofOption<T>(option: keyof CoreOptions, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw error instanceof RangeError ? new RangeError(`${option}: ${error.message}`) : error
  }
}

function quotasOf({ quotas }: CoreOptions): Quotas {
  for (const [name, value] of Object.entries(quotas ?? {})) {
    if (Number.isSafeInteger(value) && value >= 1) continue
    throw new RangeError(`quotas: ${name} must be a whole number from 1`)
  }
  return { ...QUOTAS, ...quotas }
}

function bulkRecipientsMax({ bulk_recipients_max = LIMITS.bulk_recipients }: CoreOptions): number {
  if (
    !Number.isInteger(bulk_recipients_max) ||
    bulk_recipients_max < 1 ||
    bulk_recipients_max > LIMITS.bulk_recipients_max
  ) {
    throw new RangeError(`bulk_recipients_max must be 1 to ${LIMITS.bulk_recipients_max}`)
  }
  return bulk_recipients_max
}
