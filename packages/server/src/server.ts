import type { AddressInfo } from 'node:net'
import {
  type Core,
  type CoreOptions,
  createCore,
  createSandboxPayments,
  createStripePayments,
  type PaymentProvider,
  type Runtime,
  type SandboxPayments,
  systemRuntime,
} from '@svc/core'
import { decodedOf } from '@svc/core/operate'
import type { FastifyInstance, FastifyListenOptions } from 'fastify'
import { type Logger, pino } from 'pino'
import type { ServedApi } from './api.ts'
import { buildApp } from './app.ts'
import type { Inlet } from './compat/smtp/inlet.ts'
import { inletSettings } from './compat/smtp/settings.ts'
import { atFreePort } from './connections/free-port.ts'
import type { ConsoleOptions } from './console-api/console.ts'
import { ownService } from './console-api/operator/own-service.ts'
import { devPerson } from './dev/person.ts'
import type { DevToolsOptions } from './dev/tools.ts'
import { stdoutLog } from './logging/log-destination.ts'
import { logOptions } from './logging/log-options.ts'
import type { Metrics } from './metrics/metrics.ts'
import type { OnAnswered } from './metrics/request-metrics.ts'
import { reportReady } from './one-of-several.ts'
import { versionOf } from './pages/docs.ts'
import type { Backups } from './scheduled-backups.ts'
import { type Config, urlOf } from './settings/config.ts'
import { nameServersOf } from './settings/name-servers.ts'
import type { ShownSetting } from './settings/shown.ts'
import { warnOfDatabase, warnOfSettings } from './settings/warnings.ts'
import { targetsOf } from './settings/webhook-targets.ts'

/** How long the last log lines may take to be written when the service stops. */
const LOG_DRAIN_MAX_MS = 500

/** How long a stopping service waits for mails that are being received. */
const SMTP_GRACE_MS = 10_000

/** A service that listens and dispatches. */
export interface RunningServer {
  url: string
  /** The URL of `/metrics`; null if it is not served. */
  metrics_url: string | null
  /** Where the SMTP inlet listens, such as `smtp://127.0.0.1:2525`; empty if it is off. */
  smtp_urls: string[]
  core: Core
  /** Accepts no more connections, completes requests, then dispatch in flight, and closes the database. */
  close(): Promise<void>
}

/**
 * Opens the service on its database, listens, and begins to dispatch.
 * @throws Error when the address is taken or another process serves this database.
 */
export async function startServer({
  config,
  dev = false,
  demo,
  log_level = config.log_level,
  lease_ms,
  onAnswered,
  settings = [],
  next_port = {},
}: {
  config: Config
  /**
   * Allows what a production server must not: webhooks to plain http, common passwords, a console without a password and with
   * tools for this machine, and simulated payments if Stripe is not set.
   */
  dev?: boolean
  /** The workspace that the console shows without a sign-in, and its key. */
  demo?: DevToolsOptions['demo']
  log_level?: string
  lease_ms?: CoreOptions['lease_ms']
  /** Called after each answered request. */
  onAnswered?: OnAnswered
  /** The settings with their sources, for the pages of operators. */
  settings?: readonly ShownSetting[]
  /** Whether a port that is in use is replaced by the next free one: for a port that the person did not choose. */
  next_port?: { http?: boolean; smtp?: boolean }
}): Promise<RunningServer> {
  const log = stdoutLog()
  const logger = pino(logOptions(log_level), log)
  const metrics = config.metrics_listen ? await loadMetrics(config) : null
  const runtime = systemRuntime(logger, metrics?.telemetry)
  let { public_url } = config
  const { payments, sandbox_payments } = await openPayments(config, {
    runtime,
    dev,
    public_url: () => public_url,
  })
  const core = await openCore({
    database_url: config.database_url,
    database_direct_url: config.database_direct_url ?? undefined,
    database_replica_urls: config.database_replica_urls,
    database_replica_max_lag_ms: config.database_replica_max_lag_ms,
    secrets_keys: config.secrets_keys,
    accept_any_password: dev,
    signup_credits: config.signup_credits,
    signup_credits_on: config.signup_credits_on,
    signup_daily_limit: config.signup_daily_limit,
    low_balance: config.low_balance,
    retention_days: config.retention_days,
    history_days: config.history_days,
    ledger_days: config.ledger_days,
    audit_retention_days: config.audit_retention_days,
    verification_retention_days: config.verification_retention_days,
    partitions_ahead: config.partitions_ahead,
    prices: config.prices,
    countries: config.countries,
    sequence_limit: config.sequence_limit,
    bulk_recipients_max: config.bulk_recipients_max,
    attachments_max_mb: config.attachments_max_mb,
    quotas: config.quotas,
    credit_packages: config.credit_packages,
    payments,
    providers: config.providers,
    webhook_targets: targetsOf(config, { dev }),
    domains_dns: nameServersOf(config),
    public_url: () => public_url,
    ...(config.console === 'on' && { console_url: () => `${public_url}/console` }),
    brand: config.brand,
    runtime,
    lease_ms,
    // Without its database the service cannot work. A supervisor starts the process again.
    onFailure: (error) => {
      logger.fatal({ err: error }, 'the database failed')
      process.exit(1)
    },
  })
  let scraped: Awaited<ReturnType<Metrics['serve']>> | null = null
  let backups: Backups | null = null
  let inlet: Inlet | null = null
  let app: FastifyInstance | null = null
  try {
    const jwt_secret = config.jwt_secret ?? (await core.secret('jwt'))
    let served: ServedApi | undefined
    app = await buildApp(core, {
      onServed: (parts) => {
        served = parts
      },
      config: {
        ...config,
        jwt_secret,
        self_service_domains: dev || config.self_service_domains,
      },
      logger,
      newRequestId: runtime.id,
      sandbox_payments,
      public_url: () => public_url,
      payment_landing: payments !== undefined,
      dev_tools: dev ? { demo } : undefined,
      console: consoleOf(config, { core, dev, demo, settings }),
      onAnswered: (...answered) => {
        metrics?.onAnswered(...answered)
        onAnswered?.(...answered)
      },
      // `svc dev` is stopped by hand and must end at once.
      ...(dev && { linger_ms: 0 }),
    })
    if (metrics && config.metrics_listen) scraped = await metrics.serve(core, config.metrics_listen)
    const smtp = { core, served, logger, metrics, next_port: next_port.smtp ?? false }
    inlet = await openSmtp(config, smtp)
    // The last port, so that a health check is answered only when all ports listen.
    const http = app
    const listen = (port: number) => http.listen(listenOptions(config, port))
    await (next_port.http ? atFreePort(config.port, listen) : listen(config.port))
    const { port } = http.server.address() as AddressInfo
    const url = urlOf(config.host, port)
    // The port of the system's choice, or the next free one, is known only now; providers get the public URL.
    if (public_url === urlOf(config.host, config.port)) public_url = url
    await core.audit.noteSettings(settingTexts(config))
    backups = await scheduledBackups(config, runtime)
    // Last, because a start that fails must end with no call in flight.
    await core.startDispatch()
    const metrics_url =
      scraped?.port && config.metrics_listen
        ? urlOf(config.metrics_listen.host, scraped.port)
        : null
    const smtp_urls = (inlet?.addresses ?? []).map(smtpUrlOf)
    const others = { ...(metrics_url && { metrics_url }), ...(inlet && { smtp_urls }) }
    logger.info({ url, ...others }, 'listening')
    warnOfSettings(logger, config, { dev })
    await warnOfDatabase(logger, config)
    reportReady()
    return {
      url,
      metrics_url: metrics_url && `${metrics_url}/metrics`,
      smtp_urls,
      core,
      async close() {
        await Promise.all([http.close(), inlet?.close(dev ? 0 : SMTP_GRACE_MS)])
        await backups?.stop()
        await scraped?.close()
        await core.close()
        logger.info({}, 'stopped')
        await log.drained(LOG_DRAIN_MAX_MS)
      },
    }
  } catch (error) {
    await Promise.all([app?.close(), inlet?.close(0)])
    await backups?.stop()
    await scraped?.close()
    await core.close({ grace_ms: 0 })
    throw error
  }
}

/**
 * The options of the console. In `svc dev` a browser on this machine needs no sign-in, and is an operator.
 */
function consoleOf(
  config: Config,
  {
    core,
    dev,
    demo,
    settings,
  }: {
    core: Core
    dev: boolean
    demo: DevToolsOptions['demo']
    settings: readonly ShownSetting[]
  },
): ConsoleOptions | undefined {
  if (config.console === 'off') return undefined
  const operators = config.console_operators === 'on'
  const made_by = `svc ${versionOf('@svc/server')}`
  const service = ownService(config, { dev, made_by, settings })
  const idle_minutes = config.console_idle_minutes
  const second_factor = config.operators_second_factor === 'required'
  const shared = { at_root: true, operators, service, idle_minutes, second_factor }
  if (!dev) return shared
  return { ...shared, dev, ...devPerson(decodedOf(core), { demo }) }
}

/** Opens the SMTP inlet; null if it is off. Loads its code only if it is set. */
async function openSmtp(
  config: Config,
  {
    core,
    served,
    logger,
    metrics,
    next_port,
  }: {
    core: Core
    served: ServedApi | undefined
    logger: Logger
    metrics: Metrics | null
    next_port: boolean
  },
): Promise<Inlet | null> {
  const settings = inletSettings(config)
  if (!settings || !served) return null
  const { openInlet } = await import('./compat/smtp/inlet.ts')
  const inlet = await openInlet({
    shared: { core: decodedOf(core), ...served },
    settings: { ...settings, next_port, backlog: config.listen_backlog },
    log: logger,
    onMail: metrics?.onMail,
  })
  metrics?.watchInlet(inlet)
  return inlet
}

function smtpUrlOf({ host, port, implicit_tls }: Inlet['addresses'][number]): string {
  return urlOf(host, port).replace(/^http/, implicit_tls ? 'smtps' : 'smtp')
}

/** Starts the scheduled backups. If none are set, returns null and does not load their code. */
async function scheduledBackups(
  { backups, database_url }: Config,
  { log, now }: Runtime,
): Promise<Backups | null> {
  if (!backups) return null
  const { startBackups } = await import('./scheduled-backups.ts')
  const made_by = `svc ${versionOf('@svc/server')}`
  return startBackups(backups, { database_url, made_by, log, now })
}

/** Opens the core. An error about missing keys names the settings of the service instead of the core's option. */
async function openCore(options: CoreOptions): Promise<Core> {
  try {
    return await createCore(options)
  } catch (error) {
    if (error instanceof Error && (error as { code?: unknown }).code === 'secrets_key') {
      const settings = 'SVC_SECRETS_KEY or SVC_SECRETS_KEY_FILE'
      error.message = error.message.replace('secrets_keys', settings)
    }
    throw error
  }
}

/** Loads the metrics only if they are set, so that a server without metrics starts faster. */
async function loadMetrics({ database_url, providers }: Config): Promise<Metrics> {
  const { createMetrics } = await import('./metrics/metrics.ts')
  return createMetrics({
    version: versionOf('@svc/server'),
    engine: database_url.startsWith('file:') ? 'sqlite' : 'postgres',
    providers: [...new Set(['sandbox', ...providers.map(({ name }) => name)])],
    log_lines_dropped: () => stdoutLog().dropped,
  })
}

/** Node takes `fd`. The framework passes `fd` to Node, although the framework's types lack it. */
function listenOptions(
  { listen_fd, host, listen_backlog }: Config,
  port: number,
): FastifyListenOptions {
  const backlog = listen_backlog
  return listen_fd === null
    ? { host, port, backlog }
    : ({ fd: listen_fd, backlog } as FastifyListenOptions)
}

/** Each setting as text. The audit log compares these texts with the texts of the last start. */
function settingTexts(config: Config): Record<string, string> {
  return Object.fromEntries(
    Object.entries(config).map(([name, value]) => [name, JSON.stringify(value) ?? '']),
  )
}

/** The payment provider of the service. */
interface Payments {
  /** Undefined if there is none. Every purchase is then refused. */
  payments: PaymentProvider | undefined
  /** The same provider if it is the simulated provider, which needs a page. */
  sandbox_payments: SandboxPayments | undefined
}

const SECRET_BYTES = 32

/** Opens Stripe if it is set, otherwise simulated payments under `svc dev`. */
async function openPayments(
  { stripe }: Pick<Config, 'stripe'>,
  { runtime, dev, public_url }: { runtime: Runtime; dev: boolean; public_url: () => string },
): Promise<Payments> {
  const { log, now, bytes } = runtime
  if (stripe) {
    const payments = await createStripePayments({ ...stripe, log, now, public_url })
    return { payments, sandbox_payments: undefined }
  }
  if (!dev) return { payments: undefined, sandbox_payments: undefined }
  // The process sends the notifications to itself, so each process can have a new secret.
  const secret = bytes(SECRET_BYTES).toString('hex')
  const sandbox_payments = createSandboxPayments({ secret, public_url, now })
  return { payments: sandbox_payments, sandbox_payments }
}
