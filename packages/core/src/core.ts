import { type ApiKeys, createApiKeys } from './api-keys/api-keys.ts'
import { type Audit, createAudit } from './audit/audit.ts'
import { type Billing, createBilling } from './billing/billing.ts'
import { createCarriers } from './channels/carriers.ts'
import { openCountryRule } from './channels/country-rule.ts'
import { createPace } from './channels/pace.ts'
import { createPauses } from './channels/pauses.ts'
import { createPricing, DEFAULT_PRICES } from './channels/price.ts'
import { type Contacts, createContacts } from './contacts/contacts.ts'
import { createSuppressions, type Suppressions } from './contacts/suppressions.ts'
import { createUnsubscribe, type Unsubscribe } from './contacts/unsubscribe.ts'
import { units } from './contract/fields/units.ts'
import {
  bulkRecipientsMax,
  type CoreOptions,
  ofOption,
  optionalCredits,
  quotasOf,
} from './core-options.ts'
import { type Credits, createCredits } from './credits/credits.ts'
import { type Dispatcher, startDispatcher } from './dispatch/dispatcher.ts'
import { type Listeners, startListening } from './dispatch/listening.ts'
import { type OpenedProviders, openPerformer } from './dispatch/open-performer.ts'
import { createProviders } from './dispatch/performer.ts'
import { startProviderWatch } from './dispatch/provider-watch.ts'
import { createRouting } from './dispatch/routing.ts'
import { createInbound, type Incoming } from './inbound/inbound.ts'
import { createReceivedMessages, type ReceivedMessages } from './inbound/received-messages.ts'
import { createOutbox } from './mail/outbox.ts'
import { createSandboxMailer, type SandboxMailer } from './mail/sandbox-mailer.ts'
import { createMessages, type Messages } from './messages/messages.ts'
import { createReportIntake } from './messages/reports.ts'
import { createSenders } from './messages/sender.ts'
import { createSequenceGuard } from './messages/sequence-guard.ts'
import { createAuditRetention } from './operating/audit-retention.ts'
import { createDispatchControl, type DispatchControl } from './operating/dispatch-control.ts'
import { createDispatchGate } from './operating/dispatch-gate.ts'
import { createRecipients, type Recipients } from './operating/erasure.ts'
import { openSecrets } from './operating/open-secrets.ts'
import { createOverviews, type Overviews } from './operating/overview.ts'
import { createProviderDesk, type ProviderDesk } from './operating/provider-desk.ts'
import { createRetention } from './operating/retention.ts'
import type { SecretsAtRest } from './operating/secrets-at-rest.ts'
import { smtpMailerOf } from './providers/owner-mailer.ts'
import { SANDBOX, traitsOf } from './providers/registry.ts'
import { createGate } from './runtime/closing.ts'
import { withHarmlessTelemetry } from './runtime/harmless-telemetry.ts'
import { systemRuntime } from './runtime/runtime.ts'
import { openTracing } from './runtime/tracing.ts'
import { readSecretsKeys } from './secrets/keys.ts'
import { openStorage } from './storage/open.ts'
import type { Counter, Counting } from './storage/ports/hot.ts'
import { createTargetGuard } from './webhooks/target.ts'
import { createWebhooks, type Webhooks } from './webhooks/webhooks.ts'
import { createOwnerMails } from './workspaces/owner-mails.ts'
import { createPasswords } from './workspaces/password.ts'
import { createWorkspaces, type Workspaces } from './workspaces/workspaces.ts'

/** The whole service without a framework. */
export interface Core {
  workspaces: Workspaces
  apiKeys: ApiKeys
  credits: Credits
  /** Who changed what. */
  audit: Audit
  billing: Billing
  providers: ProviderDesk
  /** How the whole service stands, for its operator. */
  overviews: Overviews
  /** Erasing somebody who was written to. */
  recipients: Recipients
  /** The stop of all sending and delivering. */
  dispatch: DispatchControl
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
  count(counting: Omit<Counting, 'now' | 'elapsed_ms'>): Promise<Counter>
  /** A secret that the service made for itself: the same for every server of the database, and for ever. */
  secret(name: string): Promise<string>
  /** How the database's secrets are encrypted. */
  secretsAtRest: SecretsAtRest
  /** Resolves when the database answers. */
  ping(): Promise<void>
  /**
   * Begins to send messages and deliver webhooks.
   * @throws Error when another process does so on this database already.
   */
  startDispatch(): Promise<Dispatcher>
  /** Whether this process is sending and delivering. */
  isDispatching(): boolean
  /**
   * Stops dispatching, lets what is under way end for at most `grace_ms` (25,000 unless given), and closes the database.
   * From the first call on, everything else here throws or rejects with an error whose `code` is `closed`; a later call
   * returns the promise of the first.
   */
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

/**
 * Opens the service on its database, creating and migrating that as needed.
 * @throws Error naming the option that cannot be meant; and, with `code` `secrets_key`, the keys that the database's
 *   secrets need and that are not given.
 */
export async function createCore(options: CoreOptions): Promise<Core> {
  const runtime = withHarmlessTelemetry(options.runtime ?? systemRuntime())
  const {
    threads = 1,
    webhook_targets: targets = { allow_http: false },
    providers = [],
    public_url = () => 'http://127.0.0.1:3000',
    retention_days: days = null,
  } = options
  const lowBalance = optionalCredits('low_balance', options.low_balance)
  const dailyLimit = optionalCredits('signup_daily_limit', options.signup_daily_limit)
  const signupCredits = optionalCredits('signup_credits', options.signup_credits) ?? units(0)
  const recipients_max = bulkRecipientsMax(options)
  const quotas = quotasOf(options)
  const priceOf = ofOption('prices', () => createPricing({ ...DEFAULT_PRICES, ...options.prices }))
  const countryFault = await openCountryRule(options.countries ?? null)
  const keys = ofOption('secrets_keys', () => readSecretsKeys(options.secrets_keys ?? []))
  const tracing = await openTracing()
  const storage = await openStorage(options.database_url, runtime, {
    onFailure: options.onFailure,
    reading_threads: threads === 0 ? 0 : READING_THREADS,
    answer_max_ms: options.answer_max_ms,
  })
  const { sealer, secret, secretsAtRest } = await openSecrets(keys, {
    storage,
    runtime,
    required: options.require_secrets_keys ?? true,
  })
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
  const reports = createReportIntake({
    storage,
    runtime,
    receive,
    onSettled: wakeDeliveries,
    tracing,
  })
  let dispatcher: Dispatcher | null = null
  let starting: Promise<Dispatcher> | null = null
  let opening: Promise<OpenedProviders> | null = null
  let listeners: Listeners | null = null
  let closing: Promise<void> | null = null
  const entrance = createGate()
  const carriers = createCarriers(providers)
  const pauses = createPauses({ storage, runtime })
  const retention = days === null ? null : createRetention({ storage, runtime, days })
  const auditRetention = createAuditRetention({
    storage,
    runtime,
    days: options.audit_retention_days,
  })
  const gate = createDispatchGate({
    storage,
    log: runtime.log,
    onOpened() {
      dispatcher?.wake()
      wakeDeliveries()
    },
  })

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
    await gate.refresh()
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
      sealer,
      right,
      performer: await openPerformer(runtime, threads, opened),
      routing: createRouting({ carriers, pace: createPace(), pauses, elapsed: runtime.elapsed }),
      gate,
      receive,
      watch: startProviderWatch({ pauses, gate, settleParked: reports.settleParked, runtime }),
      listeners,
      lease_ms: options.lease_ms,
      mailLowBalance: mails.lowBalance,
      retention,
      auditRetention,
      tracing,
    })
  }

  const apiKeys = createApiKeys({ storage, runtime, quotas })
  const contacts = createContacts({ storage, runtime, quotas })
  const sandboxMailer = createSandboxMailer(runtime)
  const smtpMailer = smtpMailerOf(providers)
  const mailer = options.mailer ?? smtpMailer ?? sandboxMailer
  const sendsMails = mailer !== sandboxMailer
  const outbox = createOutbox({ mailer, log: runtime.log })
  const mails = createOwnerMails({
    storage,
    runtime,
    outbox,
    public_url,
  })
  const dispatch = createDispatchControl({ storage, runtime, gate })
  const desk = createProviderDesk({
    storage,
    runtime,
    providers,
    open: async (name) => (await openedProviders()).providers.open(name),
    connectionsOf: (name) => listeners?.statesOf(name) ?? [],
    receiveReports: reports.receiveReports,
    onResumed: () => dispatcher?.wake(),
  })
  const api = {
    workspaces: createWorkspaces({
      storage,
      runtime,
      passwords: createPasswords(),
      mails,
      signupCredits,
      signupCreditsOn: options.signup_credits_on ?? (sendsMails ? 'verification' : 'signup'),
      limits: { daily_limit: dailyLimit, low_balance: lowBalance },
    }),
    apiKeys,
    credits: createCredits({
      storage,
      runtime,
      lowBalance: options.low_balance === undefined ? undefined : lowBalance,
    }),
    audit: createAudit({ storage, runtime, secret }),
    providers: desk,
    overviews: createOverviews({
      storage,
      runtime,
      providers: desk.status,
      pause: dispatch.pause,
    }),
    recipients: createRecipients({ storage, runtime }),
    dispatch,
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
      quotas,
      priceOf,
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
      recipients_max,
      tracing,
      onQueued: () => dispatcher?.wake(),
    }),
    received: createReceivedMessages({ storage }),
    webhooks: createWebhooks({
      storage,
      runtime,
      sealer,
      quotas,
      targets: createTargetGuard(targets),
      onQueued: (webhookId) => dispatcher?.deliverNow(webhookId),
    }),
    mails: { list: sandboxMailer.list, onMail: sandboxMailer.onMail, idle: outbox.idle },
    contacts,
    suppressions: createSuppressions({ storage, runtime }),
    unsubscribe: createUnsubscribe({ storage, runtime, secret: () => secret(PROVIDERS_SECRET) }),
    sharesCounters: storage.hot.sweepCounters !== undefined,
    async count(counting) {
      const [counter] = await storage.hot.count([
        { ...counting, now: runtime.now(), elapsed_ms: runtime.elapsed() },
      ])
      if (!counter) throw new Error('every look at a counter is answered')
      return counter
    },
    secret,
    secretsAtRest,
    ping: storage.ping,
    startDispatch() {
      starting ??= start().catch((error) => {
        starting = null
        throw error
      })
      return starting
    },
  } satisfies Omit<Core, 'close' | 'isDispatching'>

  async function closeAll(grace_ms: number): Promise<void> {
    const calls = entrance.close(grace_ms)
    try {
      await starting?.catch(() => {})
      await dispatcher?.stop(grace_ms)
      dispatcher = null
      await calls
      // Providers that could not be opened are not there to be closed.
      const opened = await opening?.catch(() => null)
      await opened?.providers.close()
      await outbox.close(Math.min(grace_ms, MAIL_GRACE_MS))
      await smtpMailer?.close()
      await apiKeys.close()
    } finally {
      await storage.close()
    }
  }

  return {
    ...entrance.guard(api),
    isDispatching: () => dispatcher !== null,
    close({ grace_ms = GRACE_MS } = {}) {
      closing ??= closeAll(grace_ms)
      return closing
    },
  }
}
