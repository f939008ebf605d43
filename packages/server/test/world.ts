import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import {
  type Core,
  type CoreOptions,
  createCore,
  createSandboxPayments,
  type Dispatcher,
  type PaymentProvider,
  type Runtime,
  systemRuntime,
} from '@svc/core'
import { QUOTAS, type Quotas, RATES, type RateLimit, readCreditPackages } from '@svc/core/contract'
import { decodedOf } from '@svc/core/operate'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { makeMigratedFile } from '../../core/test/migrated-file.ts'
import type { Load } from '../src/admission/gate.ts'
import { type AppOptions, buildApp } from '../src/app.ts'
import type { ConsoleOptions, ConsoleTiming } from '../src/console-api/console.ts'
import { devPerson } from '../src/dev/person.ts'
import type { DevToolsOptions } from '../src/dev/tools.ts'
import { logOptions } from '../src/logging/log-options.ts'
import type { OidcSettings } from '../src/settings/oidc.ts'
import { accountsOf } from './accounts.ts'
import { callerOf } from './call.ts'
import { within } from './within.ts'

export const JWT_SECRET = 'a secret of the tests, of more than 32 bytes'

/** Signs the notifications of the sandbox's payments. */
export const PAYMENT_SECRET = 'whsec_of_the_tests'

/** The credit packages of every world. */
export const PACKAGES = readCreditPackages(`[
  { "id": "starter", "name": "Starter", "credits": 1000, "price": { "amount": 1000, "currency": "USD" } },
  { "id": "large", "name": "Large", "description": "For campaigns", "credits": 10000, "bonus_credits": 500.5,
    "price": { "amount": 9000, "currency": "JPY" } }
]`)

/** The initial time of every world's clock. */
export const BEGINNING_MS = Date.parse('2026-05-04T09:00:00.000Z')

/** The maximum wait for work in flight. */
const END_MAX_MS = 5_000

/** A limit that no test reaches, for tests that are not about limits. */
const UNLIMITED: RateLimit = { max: 1_000_000_000, window_s: 60 }

/** Quotas that no test uses up, for tests that are not about quotas. */
const PLENTY = Object.fromEntries(
  Object.keys(QUOTAS).map((name) => [name, UNLIMITED.max]),
) as unknown as Quotas

/** The load of an idle service. */
export const QUIET: Load = { requests: 1, delay_ms: 0 }

/** A line of the service's log. */
export type LogLine = Record<string, unknown> & { level: number; msg: string }

/** pino's number for an error. */
const ERROR_LEVEL = 50

export interface WorldOptions {
  /** `'specified'` for those of the contract; a bucket without an entry is unlimited. */
  rates?: 'specified' | Partial<Record<keyof typeof RATES, RateLimit>>
  /** A quota without an entry is more than any test needs. */
  quotas?: Partial<Quotas>
  trust_proxy?: string[]
  /** The name of the service on its pages. */
  brand?: string
  /** The address of the service for browsers; default: plain http on this machine. */
  public_url?: string
  /** The OIDC provider with which members sign in. */
  oidc?: OidcSettings
  members_second_factor?: 'optional' | 'required'
  overload?: Load
  connections_max?: number
  /** The load; default: idle. */
  load?: (() => Load) | 'measured'
  signup_credits?: string
  signup_credits_on?: CoreOptions['signup_credits_on']
  /** Prices, and rules about recipients. */
  spend?: Pick<CoreOptions, 'prices' | 'countries' | 'sequence_limit'>
  /** Providers in place of the sandbox. */
  providers?: CoreOptions['providers']
  signup_daily_limit?: string
  low_balance?: string | null
  /** Whether workspaces add sending domains themselves; default: true. */
  self_service_domains?: boolean
  /** The name servers for the records of sending domains; default: none answers. */
  domains_dns?: string[]
  /** Whether webhooks may use plain http; default: true. */
  allow_http?: boolean
  /** Networks that webhooks may reach although they are not public; default: this machine. */
  allow_nets?: string[]
  /** Whether messages are sent and webhooks delivered. */
  dispatch?: boolean
  /** Whether the app listens on a port, for tests that need sockets. */
  listen?: boolean
  log_level?: string
  /** How long a closing app still serves open connections; default: 0. */
  linger_ms?: number
  grace_ms?: number
  /** The console; default: not served. */
  console?: ConsoleOptions & ConsoleTiming
  /** The tools of `svc dev`, in its console. */
  dev_tools?: DevToolsOptions
  /** Default: a SQLite database of its own. */
  database_url?: string
  /** The source of ids, bytes and random numbers, in place of the real one. */
  chance?: (now: () => Date) => Pick<Runtime, 'id' | 'bytes' | 'random'>
  /** The payment provider; default: the sandbox; null for none. */
  payments?: PaymentProvider | null
  /** Replaces parts of the core. */
  alter?: (core: Core) => Core
  /** Receives the parts that the doors share. */
  onServed?: AppOptions['onServed']
}

export type World = Awaited<ReturnType<typeof openWorld>>

/**
 * The real service on a temporary database, with a clock that moves only on demand. `close` throws
 * when work is still in flight, or when the log has a fault that the test did not take.
 */
export async function openWorld(options: WorldOptions = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-server-'))
  const socketsBefore = openSockets()
  const clock = { ms: BEGINNING_MS, elapsed_ms: 0 }
  const lines: LogLine[] = []
  const logger = pino(logOptions(options.log_level ?? 'error'), {
    write: (line) => void lines.push(JSON.parse(line)),
  })
  const now = () => new Date(clock.ms)
  const elapsed = () => clock.elapsed_ms
  const runtime = { ...systemRuntime(logger), now, elapsed, ...options.chance?.(now) }
  const sandbox = createSandboxPayments({
    secret: PAYMENT_SECRET,
    public_url: () => 'http://127.0.0.1:3000',
    now,
  })
  const file = join(folder, 'svc.db')
  if (options.database_url === undefined) await makeMigratedFile(file)
  const core = await createCore({
    database_url: options.database_url ?? `file:${file}`,
    signup_credits: options.signup_credits ?? '0',
    quotas: { ...PLENTY, ...options.quotas },
    signup_credits_on: options.signup_credits_on,
    ...options.spend,
    ...(options.providers && { providers: options.providers }),
    ...(options.signup_daily_limit && { signup_daily_limit: options.signup_daily_limit }),
    ...(options.low_balance !== undefined && { low_balance: options.low_balance }),
    webhook_targets: {
      allow_http: options.allow_http ?? true,
      allow_nets: options.allow_nets ?? ['127.0.0.0/8', '::1/128'],
      // No server listens there, and a connection fails at once.
      dns: ['127.0.0.1:1'],
    },
    domains_dns: options.domains_dns ?? ['127.0.0.1:1'],
    credit_packages: PACKAGES,
    payments: options.payments === undefined ? sandbox : (options.payments ?? undefined),
    threads: 0,
    runtime,
  })
  const app = await buildApp(options.alter?.(core) ?? core, {
    config: {
      jwt_secret: JWT_SECRET,
      rates: ratesOf(options.rates),
      self_service_domains: options.self_service_domains ?? true,
      trust_proxy: options.trust_proxy ?? [],
      ...(options.brand && { brand: options.brand }),
      ...(options.oidc && { oidc: options.oidc }),
      members_second_factor: options.members_second_factor ?? 'optional',
      ...(options.overload && { overload: options.overload }),
      ...(options.connections_max && { connections_max: options.connections_max }),
    },
    sandbox_payments: options.payments === undefined ? sandbox : undefined,
    ...(options.public_url && { public_url: () => options.public_url as string }),
    logger,
    now: () => clock.ms,
    load: options.load === 'measured' ? undefined : (options.load ?? (() => QUIET)),
    newRequestId: runtime.id,
    linger_ms: options.linger_ms ?? 0,
    ...(options.grace_ms !== undefined && { grace_ms: options.grace_ms }),
    dev_tools: options.dev_tools,
    console:
      options.console ??
      (options.dev_tools && { dev: true, ...devPerson(decodedOf(core), options.dev_tools) }),
    onServed: options.onServed,
  })
  const dispatcher = options.dispatch ? await core.startDispatch() : null
  const url = options.listen ? await app.listen({ host: '127.0.0.1', port: 0 }) : null
  const { call, inFlight } = callerOf(app)
  const takeFaults = () => lines.splice(0).filter(({ level }) => level >= ERROR_LEVEL)

  /** Throws when requests are in flight, work does not end, or a fault was logged. */
  async function settle(): Promise<void> {
    if (inFlight() > 0) throw new Error(`${inFlight()} requests are still in flight`)
    if (dispatcher) await within(END_MAX_MS, 'the dispatcher to be idle', dispatcher.idle())
    const faults = takeFaults()
    if (faults.length > 0) throw new Error(`faults were logged: ${JSON.stringify(faults)}`)
  }

  return {
    app,
    core,
    runtime,
    call,
    lines,
    takeFaults,
    settle,
    /** The URL of the app. */
    url: url ?? 'http://not-listening.invalid',
    get dispatcher(): Dispatcher {
      if (!dispatcher) throw new Error('this world does not dispatch')
      return dispatcher
    },
    now,
    /** Finishes the due work, moves the clock, and finishes the work that is due then. */
    async advance(ms: number): Promise<void> {
      // Work in flight would find its lease expired, as after a long sleep of the machine.
      await dispatcher?.idle()
      clock.ms += ms
      clock.elapsed_ms += ms
      await dispatcher?.idle()
    },
    /** Sets the clock forwards or backwards without elapsed time. */
    step(ms: number): void {
      clock.ms += ms
    },
    ...accountsOf(core, call),
    async close(): Promise<void> {
      try {
        await settle()
        await within(END_MAX_MS, 'the app to close', app.close())
        await within(END_MAX_MS, 'the core to close', core.close())
        await socketsClosed(socketsBefore)
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    },
  }
}

/** A world for the tests around it: opened before the first, settled after each, closed after the last. */
export function useWorld(options: WorldOptions = {}): () => World {
  let world: World | undefined
  beforeAll(async () => {
    world = await openWorld(options)
  })
  afterEach(() => world?.settle())
  afterAll(() => world?.close())
  return () => {
    if (!world) throw new Error('the world is not open yet')
    return world
  }
}

/** Limits that no test reaches, except `rates`. */
export function ratesOf(rates: WorldOptions['rates'] = {}): Record<keyof typeof RATES, RateLimit> {
  if (rates === 'specified') return RATES
  return {
    general: UNLIMITED,
    workspace: UNLIMITED,
    console: UNLIMITED,
    bulk: UNLIMITED,
    bulk_estimate: UNLIMITED,
    auth: UNLIMITED,
    anonymous: UNLIMITED,
    failed_auth: UNLIMITED,
    login_all: UNLIMITED,
    signup_all: UNLIMITED,
    ...rates,
  }
}

function openSockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name.startsWith('TCP')).length
}

async function socketsClosed(allowed: number): Promise<void> {
  const until = performance.now() + END_MAX_MS
  while (openSockets() > allowed) {
    if (performance.now() > until) throw new Error(`${openSockets() - allowed} sockets are open`)
    await pause(10)
  }
}

export interface ConsoleRequest {
  cookie?: string | undefined
  json?: object | undefined
  headers?: Record<string, string>
  /** The client's address. */
  from?: string
}

/** A request of the browser to the console; `path` below `/console/api`. */
export function askConsole(
  { app }: World,
  method: string,
  path: string,
  { cookie, json, headers, from }: ConsoleRequest = {},
) {
  return app.inject({
    method: method as 'GET',
    url: `/console/api${path}`,
    ...(from && { remoteAddress: from }),
    headers: { 'sec-fetch-site': 'same-origin', ...(cookie && { cookie }), ...headers },
    ...(json && { payload: json }),
  })
}
