import { type ApiKeys, createApiKeys } from './api-keys/api-keys.ts'
import { type Billing, createBilling } from './billing/billing.ts'
import type { PaymentProvider } from './billing/payment.ts'
import { createCarriers } from './channels/carriers.ts'
import { type CountryRule, openCountryRule } from './channels/country-rule.ts'
import { createPace } from './channels/pace.ts'
import { createPauses } from './channels/pauses.ts'
import { createPricing, DEFAULT_PRICES, type Prices } from './channels/price.ts'
import { createProviderDesk, type ProviderDesk } from './channels/providers.ts'
import { type Contacts, createContacts } from './contacts/contacts.ts'
import { createSuppressions, type Suppressions } from './contacts/suppressions.ts'
import { createUnsubscribe, type Unsubscribe } from './contacts/unsubscribe.ts'
import type { CreditPackage } from './contract/billing.ts'
import { LIMITS } from './contract/limits.ts'
import { parseCredits, type Units } from './contract/units.ts'
import { type Credits, createCredits } from './credits/credits.ts'
import { type Dispatcher, startDispatcher } from './dispatch/dispatcher.ts'
import { type Listeners, startListening } from './dispatch/listening.ts'
import {
  createPerformer,
  createProviders,
  type Performer,
  type PerformerSettings,
} from './dispatch/performer.ts'
import { startProviderWatch } from './dispatch/provider-watch.ts'
import { createRouting } from './dispatch/routing.ts'
import { createInbound, type Incoming } from './inbound/inbound.ts'
import { createReceivedMessages, type ReceivedMessages } from './inbound/received-messages.ts'
import type { ReplyTexts } from './inbound/reply.ts'
import type { Mailer } from './mail/mail.ts'
import { createOutbox } from './mail/outbox.ts'
import { createSandboxMailer, type SandboxMailer } from './mail/sandbox-mailer.ts'
import { createMessages, type Messages } from './messages/messages.ts'
import { createReportIntake } from './messages/reports.ts'
import { createSenders } from './messages/sender.ts'
import type { SequenceLimit } from './messages/sequence-detector.ts'
import { createSequenceGuard } from './messages/sequence-guard.ts'
import { createOverviews, type Overviews } from './operating/overview.ts'
import { type ProviderSettings, SANDBOX, traitsOf } from './providers/registry.ts'
import { type Runtime, systemRuntime } from './runtime.ts'
import { createSecrets } from './secrets/secrets.ts'
import { openStorage } from './storage/open.ts'
import type { Counter, Counting } from './storage/storage.ts'
import { createTargetGuard, type TargetPolicy } from './webhooks/target.ts'
import { createWebhooks, type Webhooks } from './webhooks/webhooks.ts'
import { createOwnerMails } from './workspaces/owner-mails.ts'
import { createPasswords } from './workspaces/password.ts'
import { createWorkspaces, type Workspaces } from './workspaces/workspaces.ts'

export interface CoreOptions {
  /** `file:/path/to/svc.db` (SQLite) or `postgres://…`. */
  database_url: string
  /** Decimal strings of credits; those left out keep the specification's prices. */
  prices?: Partial<Prices>
  /** Which countries may be written to; all unless told. */
  countries?: CountryRule | null
  /** How many numbers that follow one another a workspace may write to before it is frozen; any unless told. */
  sequence_limit?: SequenceLimit | null
  /** How many recipients a bulk may have: 1,000 unless told, 10,000 at the most. */
  bulk_recipients_max?: number | undefined
  /** Credits a new workspace starts with, as a decimal string. */
  signup_credits?: string
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

/** The whole service without a framework. */
export interface Core {
  workspaces: Workspaces
  apiKeys: ApiKeys
  credits: Credits
  billing: Billing
  providers: ProviderDesk
  /** How the whole service stands, for its operator. */
  overviews: Overviews
  /** Whether calls are made: the channel `voice` is offered then. */
  hasVoice: boolean
  messages: Messages
  /** What recipients wrote. */
  received: ReceivedMessages
  webhooks: Webhooks
  contacts: Contacts
  suppressions: Suppressions
  /** What the unsubscribe links of e-mails do. */
  unsubscribe: Unsubscribe
  mails: Mails
  /** Whether counters are kept by the database, for all its servers. */
  sharesCounters: boolean
  /** Counts a request, or only looks: exact over all servers on one PostgreSQL; with SQLite, in this process. */
  count(counting: Omit<Counting, 'now'>): Promise<Counter>
  /** A secret that the service made for itself: the same for every server of the database, and for ever. */
  secret(name: string): Promise<string>
  /** Resolves when the database answers. */
  ping(): Promise<void>
  /**
   * Begins to send messages and deliver webhooks.
   * @throws Error when another process does so on this database already.
   */
  startDispatch(): Promise<Dispatcher>
  /** Whether this process is sending and delivering. */
  isDispatching(): boolean
  /** Stops dispatching, lets what is under way end for at most `grace_ms`, and closes the database. */
  close(options?: { grace_ms?: number }): Promise<void>
}

/** The mails to owners. */
export interface Mails extends Pick<SandboxMailer, 'list' | 'onMail'> {
  /** Resolves when none is waiting to be sent or under way. */
  idle(): Promise<void>
}

const GRACE_MS = 25_000

/** What providers sign with, so that they know their own again. */
const PROVIDERS_SECRET = 'providers'

/** Two, so that a page deep in a long history does not hold up the first page of another. */
const READING_THREADS = 2
const MAIL_GRACE_MS = 5_000

/** Opens the service on its database, creating and migrating that as needed. */
export async function createCore(options: CoreOptions): Promise<Core> {
  const runtime = options.runtime ?? systemRuntime()
  const {
    threads = 1,
    webhook_targets: targets = { allow_http: false },
    providers = [],
    public_url = () => 'http://127.0.0.1:3000',
  } = options
  const lowBalance = optionalCredits(options.low_balance)
  const dailyLimit = optionalCredits(options.signup_daily_limit)
  const countryFault = await openCountryRule(options.countries ?? null)
  const storage = await openStorage(options.database_url, runtime, {
    onFailure: options.onFailure,
    reading_threads: threads === 0 ? 0 : READING_THREADS,
    answer_max_ms: options.answer_max_ms,
  })
  const secret = createSecrets({ storage, runtime })
  const wakeDeliveries = () => dispatcher?.wakeDeliveries()
  const inbound = createInbound({
    storage,
    runtime,
    texts: options.reply_texts,
    isOurs: ({ channel, sender }) => carriers.hasSender(channel, sender),
    onQueued() {
      dispatcher?.wake()
      wakeDeliveries()
    },
  })
  const receive = (name: string, incoming: readonly Incoming[]) => {
    const { handles_stop = false } = carriers.traits(name) ?? {}
    return inbound.receive({ name, handles_stop }, incoming)
  }
  const reports = createReportIntake({ storage, runtime, receive, onSettled: wakeDeliveries })
  let dispatcher: Dispatcher | null = null
  let starting: Promise<Dispatcher> | null = null
  let opening: Promise<OpenedProviders> | null = null
  let listeners: Listeners | null = null
  const carriers = createCarriers(providers)
  const pauses = createPauses({ storage, runtime })

  /** Opened on first use: by then it is known where the service is reached. */
  function openedProviders(): Promise<OpenedProviders> {
    opening ??= openProviders()
    return opening
  }

  async function openProviders(): Promise<OpenedProviders> {
    const settings = {
      targets,
      providers: [SANDBOX, ...providers],
      public_url: public_url(),
      secret: await secret(PROVIDERS_SECRET),
    }
    return { settings, providers: createProviders(settings) }
  }

  async function start(): Promise<Dispatcher> {
    const right = await storage.startDispatch()
    try {
      dispatcher = await startWith(right)
      return dispatcher
    } catch (error) {
      await listeners?.close(0)
      listeners = null
      await right.release()
      throw error
    }
  }

  async function startWith(right: { release(): Promise<void> }): Promise<Dispatcher> {
    await pauses.refresh()
    if (options.low_balance !== undefined) {
      const at = runtime.now()
      await storage.write(({ lowBalances }) => lowBalances.setDefault(lowBalance, at))
    }
    const opened = await openedProviders()
    listeners = await startListening({
      providers: providers.filter((one) => traitsOf(one).listens).map(({ name }) => name),
      open: opened.providers.open,
      receiveReports: reports.receiveReports,
      log: runtime.log,
    })
    return startDispatcher({
      storage,
      runtime,
      right,
      performer: await openPerformer(runtime, threads, opened),
      routing: createRouting({ carriers, pace: createPace(), pauses, now: runtime.now }),
      receive,
      watch: startProviderWatch({ pauses, settleParked: reports.settleParked, runtime }),
      listeners,
      lease_ms: options.lease_ms,
      mailLowBalance: mails.lowBalance,
    })
  }

  const apiKeys = createApiKeys({ storage, runtime })
  const contacts = createContacts({ storage, runtime })
  const sandboxMailer = createSandboxMailer(runtime)
  const smtpMailer = smtpMailerOf(providers)
  const mailer = options.mailer ?? smtpMailer ?? sandboxMailer
  const outbox = createOutbox({ mailer, log: runtime.log })
  const mails = createOwnerMails({
    storage,
    runtime,
    outbox,
    public_url,
  })
  const desk = createProviderDesk({
    storage,
    runtime,
    providers,
    open: async (name) => (await openedProviders()).providers.open(name),
    connectionsOf: (name) => listeners?.statesOf(name) ?? [],
    receiveReports: reports.receiveReports,
    onResumed: () => dispatcher?.wake(),
  })
  return {
    workspaces: createWorkspaces({
      storage,
      runtime,
      passwords: createPasswords(),
      mails,
      signupCredits: parseCredits(options.signup_credits ?? '0'),
      limits: { daily_limit: dailyLimit, low_balance: lowBalance },
    }),
    apiKeys,
    credits: createCredits({
      storage,
      runtime,
      lowBalance: options.low_balance === undefined ? undefined : lowBalance,
    }),
    providers: desk,
    overviews: createOverviews({ storage, runtime, providers: desk.status }),
    hasVoice: carriers.serves('voice'),
    billing: createBilling({
      storage,
      runtime,
      packages: options.credit_packages ?? [],
      payments: options.payments ?? null,
    }),
    messages: createMessages({
      storage,
      runtime,
      priceOf: createPricing({ ...DEFAULT_PRICES, ...options.prices }),
      countryFault,
      senders: createSenders({ storage, carriers }),
      sequences: options.sequence_limit
        ? createSequenceGuard({
            storage,
            runtime,
            limit: options.sequence_limit,
            onFrozen: mails.frozen,
          })
        : null,
      contacts,
      recipients_max: bulkRecipientsMax(options),
      onQueued: () => dispatcher?.wake(),
    }),
    received: createReceivedMessages({ storage }),
    webhooks: createWebhooks({
      storage,
      runtime,
      targets: createTargetGuard(targets),
      onQueued: (webhookId) => dispatcher?.deliverNow(webhookId),
    }),
    mails: { list: sandboxMailer.list, onMail: sandboxMailer.onMail, idle: outbox.idle },
    contacts,
    suppressions: createSuppressions({ storage, runtime }),
    unsubscribe: createUnsubscribe({ storage, runtime, secret: () => secret(PROVIDERS_SECRET) }),
    sharesCounters: storage.hot.sweepCounters !== undefined,
    async count(counting) {
      const [counter] = await storage.hot.count([{ ...counting, now: runtime.now() }])
      if (!counter) throw new Error('every look at a counter is answered')
      return counter
    },
    secret,
    ping: storage.ping,
    startDispatch() {
      starting ??= start().catch((error) => {
        starting = null
        throw error
      })
      return starting
    },
    isDispatching: () => dispatcher !== null,
    async close({ grace_ms = GRACE_MS } = {}) {
      await dispatcher?.stop(grace_ms)
      dispatcher = null
      await (await opening)?.providers.close()
      await outbox.close(Math.min(grace_ms, MAIL_GRACE_MS))
      await smtpMailer?.close()
      await apiKeys.close()
      await storage.close()
    },
  }
}

/** The service's own mails go through the first mail server there is, which is loaded when one is sent. */
function smtpMailerOf(
  providers: readonly ProviderSettings[],
): (Mailer & { close(): Promise<void> }) | null {
  const settings = providers.find((one) => one.type === 'smtp')
  if (!settings) return null
  let opening: Promise<Mailer & { close(): void }> | null = null
  async function open() {
    const { createSmtpMailer } = await import('./providers/smtp/smtp-mailer.ts')
    return createSmtpMailer(settings as NonNullable<typeof settings>)
  }
  return {
    async send(mail) {
      opening ??= open()
      await (await opening).send(mail)
    },
    async close() {
      ;(await opening)?.close()
    },
  }
}

function optionalCredits(text: string | null = null): Units | null {
  return text === null ? null : parseCredits(text)
}

/** @throws RangeError for a number that no bulk may have. */
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

/** The providers of this thread, and what other threads open theirs with. */
interface OpenedProviders {
  settings: PerformerSettings
  providers: ReturnType<typeof createProviders>
}

async function openPerformer(
  { now, log }: Runtime,
  threads: number,
  { settings, providers }: OpenedProviders,
): Promise<Performer> {
  const here = createPerformer({ now, targets: settings.targets, providers })
  if (threads === 0) return here
  const { createPool } = await import('./dispatch/pool.ts')
  const connected = settings.providers.filter((provider) => traitsOf(provider).connected)
  const names = new Set<string>(connected.map(({ name }) => name))
  return createPool({ threads, log, settings, here, isHere: (name) => names.has(name) })
}
