import type { PaymentProvider } from './billing/payment.ts'
import type { CountryRule } from './channels/country-rule.ts'
import type { Prices } from './channels/price.ts'
import { parseCredits, type Units } from './contract/fields/units.ts'
import { LIMITS, QUOTAS, type Quotas } from './contract/limits.ts'
import type { Mailer } from './contract/outside/mail.ts'
import type { CreditPackage } from './contract/resources/billing.ts'
import type { ReplyTexts } from './inbound/reply.ts'
import type { SequenceLimit } from './messages/sequence-detector.ts'
import type { ProviderSettings } from './providers/registry.ts'
import type { Runtime } from './runtime/runtime.ts'
import type { TargetPolicy } from './webhooks/target.ts'
import type { SignupCreditsOn } from './workspaces/verification.ts'

/** What a service is opened with. Only `database_url` must be given. */
export interface CoreOptions {
  /** `file:/path/to/svc.db` (SQLite) or `postgres://…`. */
  database_url: string
  /**
   * Keys that encrypt the secrets in the database, each 32 bytes as base64, base64url or 64 hex digits: the first encrypts,
   * all decrypt. Without one they are stored as plain text.
   */
  secrets_keys?: readonly string[]
  /**
   * Whether opening is refused while the database holds values of keys that are not given; true by default. False is
   * only for programs that read and write no secrets.
   */
  require_secrets_keys?: boolean
  /** Decimal strings of credits; those left out keep the specification's prices. */
  prices?: Partial<Prices>
  /** Which countries may be written to; all unless told. */
  countries?: CountryRule | null
  /** How many numbers that follow one another a workspace may write to before it is frozen; any unless told. */
  sequence_limit?: SequenceLimit | null
  /** How much a workspace may have and use; those left out are `QUOTAS`. */
  quotas?: Partial<Quotas> | undefined
  /** How many recipients a bulk may have: 1,000 unless told, 10,000 at the most. */
  bulk_recipients_max?: number | undefined
  /**
   * After how many days, 7 or more, recipients, contents and events are erased, while this process dispatches; never
   * unless told. The ledger keeps all.
   */
  retention_days?: number | null | undefined
  /** After how many days, 7 or more, entries of the audit log are removed while this process dispatches; default 365. */
  audit_retention_days?: number | undefined
  /** Credits a new workspace starts with, as a decimal string. */
  signup_credits?: string
  /**
   * When it gets them: at once, or with the first verification of its e-mail address. `verification` by default where
   * mails to owners are sent for real (`mailer`, or a provider of type `smtp`), else `signup`.
   */
  signup_credits_on?: SignupCreditsOn | undefined
  /** The most a new workspace may spend on a day (UTC), as a decimal string; no such limit unless told. */
  signup_daily_limit?: string | null
  /**
   * Below how many credits (a decimal string) owners are told who chose no threshold of their own; null for never.
   * Dispatching begins with giving it to them; unless told, they keep what they have.
   */
  low_balance?: string | null
  /** What can be bought; nothing unless told. */
  credit_packages?: readonly CreditPackage[]
  /** Takes the payments for it. Without one every purchase fails. */
  payments?: PaymentProvider | undefined
  /** What is answered to STOP, START and HELP; in English, unless told. */
  reply_texts?: Partial<ReplyTexts> | undefined
  webhook_targets?: TargetPolicy
  /** Who carries messages, in the order in which they are tried; the sandbox serves what nobody here does. */
  providers?: readonly ProviderSettings[]
  /** Where the links of mails lead, without a slash at its end; asked for each. `http://127.0.0.1:3000` unless told. */
  public_url?: () => string
  /** Carries the mails to owners; a provider of type `smtp` unless told. Without either they reach nobody, and `mails` shows them. */
  mailer?: Mailer
  /**
   * Threads for providers and webhooks; 1 unless told. 0 does everything in this thread, which a `runtime` with a
   * simulated clock needs.
   */
  threads?: number
  /**
   * How long work that a server has claimed is its own: what a killed one held is taken up by another after it. About a
   * minute unless told; much less only where providers and receivers are known to answer at once.
   */
  lease_ms?: number | undefined
  /** How long PostgreSQL may take to do one thing before whoever asked is told that it failed; 10 s unless told. */
  answer_max_ms?: number | undefined
  runtime?: Runtime
  /** Told when the database failed in a way that only a restart mends; the process should end. */
  onFailure?: (error: Error) => void
}

/** Decimal credits as units; null for no text. */
export function optionalCredits(
  option: keyof CoreOptions,
  text: string | null = null,
): Units | null {
  return text === null ? null : ofOption(option, () => parseCredits(text))
}

/** What `read` makes of an option. What it throws names the option. */
export function ofOption<T>(option: keyof CoreOptions, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw error instanceof RangeError ? new RangeError(`${option}: ${error.message}`) : error
  }
}

/** @throws RangeError for a quota that is no whole number from 1. */
export function quotasOf({ quotas }: CoreOptions): Quotas {
  for (const [name, value] of Object.entries(quotas ?? {})) {
    if (Number.isSafeInteger(value) && value >= 1) continue
    throw new RangeError(`quotas: ${name} must be a whole number from 1`)
  }
  return { ...QUOTAS, ...quotas }
}

/** @throws RangeError for a number that no bulk may have. */
export function bulkRecipientsMax({
  bulk_recipients_max = LIMITS.bulk_recipients,
}: CoreOptions): number {
  if (
    !Number.isInteger(bulk_recipients_max) ||
    bulk_recipients_max < 1 ||
    bulk_recipients_max > LIMITS.bulk_recipients_max
  ) {
    throw new RangeError(`bulk_recipients_max must be 1 to ${LIMITS.bulk_recipients_max}`)
  }
  return bulk_recipients_max
}
