import type { PaymentProvider } from './billing/payment.ts'
import type { Quotas } from './contract/limits.ts'
import type { Mailer } from './contract/outside/mail.ts'
import type { CreditPackage } from './contract/resources/billing.ts'
import type { ReplyTexts } from './inbound/reply.ts'
import type { SequenceLimit } from './messages/sequence-detector.ts'
import type { CountryRule, Prices } from './prices/price.ts'

import type { ProviderOption } from './providers/install.ts'
import type { Runtime } from './runtime/runtime.ts'
import type { Durability } from './storage/database-url.ts'
import type { TargetPolicy } from './webhooks/target.ts'
import type { SignupCreditsOn } from './workspaces/verification.ts'

/**
 * The options of `createCore`. Only `database_url` is required. All are checked before anything is opened; unknown names
 * are refused.
 */
export interface CoreOptions {
  /**
   * `file:/path/to/svc.db` (SQLite) or `postgres://…`. For tests, with `durability: 'none'`: `:memory:`, an empty database
   * that `close` deletes.
   */
  database_url: string
  /**
   * The same PostgreSQL database without a pooler, where `database_url` leads through a pooler that keeps no session for a connection:
   * for listening, migrations and work that one process does alone. Without it the program polls.
   */
  database_direct_url?: string | undefined
  /**
   * Standbys of the PostgreSQL database, at most 16: lists, searches, timelines, exports and statistics are read there. A read shows
   * everything that was committed before it began; if no standby has that in time, the read goes to `database_url`. A standby that is lost
   * or behind is no error.
   */
  database_replica_urls?: readonly string[] | undefined
  /** How long a read waits for a standby that is behind, 1 to 60,000 ms; one that is further behind is not used. Default: 250. */
  database_replica_max_lag_ms?: number | undefined
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
  /**
   * Whether every new password of 8 to 256 characters is accepted, also one of the most common ones; only for a service on the
   * machine of a developer. Default false.
   */
  accept_any_password?: boolean | undefined
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
  /** Maximum of the decoded files of one e-mail together, in MB (1,048,576 bytes), up to 40. Default 10. */
  attachments_max_mb?: number | undefined
  /**
   * Age in days, 7 or more, at which recipients, contents and events are erased while this process dispatches. The ledger
   * is kept. Default: never.
   */
  retention_days?: number | null | undefined
  /**
   * Age in days, 7 or more, at which finished messages, bulks, events, deliveries and received messages are removed while
   * this process dispatches. The ledger is kept. Default: never.
   */
  history_days?: number | null | undefined
  /**
   * Age in days, 400 or more and at least `history_days`, at which the ledger entries of removed messages are folded into a
   * signed opening. Needs `history_days`. Default: never.
   */
  ledger_days?: number | null | undefined
  /** Age in days, 7 or more, at which audit entries are removed while this process dispatches. Default 365. */
  audit_retention_days?: number | undefined
  /** Days after their end, 1 or more, at which verifications are removed while this process dispatches. Default 30. */
  verification_retention_days?: number | undefined
  /**
   * Months after the current one, 1 to 24, for which this process adds partitions while it dispatches from a PostgreSQL database whose
   * histories are partitioned. Default 3.
   */
  partitions_ahead?: number | undefined
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
  /** DNS servers (`address[:port]`) for the records of sending domains. Default: the servers of this machine. */
  domains_dns?: readonly string[] | undefined
  /**
   * The providers in the order in which they are tried: settings of built-in types, providers of `defineProvider`, and
   * modules of such providers. The sandbox serves the channels that none of them serves.
   */
  providers?: readonly ProviderOption[]
  /**
   * Base URL of links in mails: http or https, without a slash at its end. Called for each mail and when providers are
   * opened; another result is a RangeError there. Default `http://127.0.0.1:3000`.
   */
  public_url?: () => string
  /** The address of the console, to which mails to owners then link, as `public_url`. Default: no links. */
  console_url?: (() => string) | undefined
  /** The name of the service in the mails to owners, at most 60 characters. Default `svc`. */
  brand?: string | undefined
  /** Sends the mails to owners. Default: a provider of type `smtp`; without one, no mail is sent and `mails` shows them. */
  mailer?: Mailer
  /**
   * Threads for providers and webhooks, up to 64. Default 1. With 0 all work is done in this thread, which a `runtime` with a
   * simulated clock needs.
   */
  threads?: number
  /**
   * Lease of claimed work in milliseconds, 100 to 3,600,000; after it, another server takes the work over. Default: about a minute. A much
   * shorter lease is safe only with providers and receivers that answer at once.
   */
  lease_ms?: number | undefined
  /**
   * Maximum time of a PostgreSQL operation in milliseconds, 100 to 600,000, before the caller gets an error. Default
   * 10,000.
   */
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
