import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { EventKind } from '@svc/core/contract'
import { type Caller, createCaller } from './service-caller.ts'

/** Options of `createTestService`. */
export interface TestServiceOptions {
  /**
   * The initial time of the clock; default: now, so that deliveries verify against the real time.
   */
  at?: Date
  /** The initial credits of the workspace, as a decimal string; default: 1000. */
  credits?: string
}

/** A message as the API shows it. */
export interface SentMessage {
  id: string
  channel: string
  recipient: string
  content: Record<string, unknown>
  status: string
  credits_used: number
  error_code: string | null
  metadata: Record<string, unknown>
  created_at: string
  [field: string]: unknown
}

/** A complete service with one workspace. */
export interface TestService extends Caller {
  /** The URL of the API, without a slash at its end. */
  readonly url: string
  readonly workspace_id: string
  /** An API key with all scopes: `X-Api-Key`. */
  readonly api_key: string
  /**
   * The time of the service's clock. Pass it to your receiver:
   * `createReceiver({ secret, now: service.now })`.
   */
  now(): Date
  /** Completes the work that is due, moves the clock, and completes the work that is due then. */
  advance(ms: number): Promise<void>
  /** Resolves when no work is due and none is in flight. */
  idle(): Promise<void>
  /** Subscribes a URL of this machine to events (default: all). The secret is shown only here. */
  webhook(
    url: string,
    options?: { events?: readonly (EventKind | '*')[] },
  ): Promise<{ id: string; secret: string }>
  /** The newest messages with their current status, newest first: at most 100. */
  sent(): Promise<SentMessage[]>
  /** Stops the service and removes its database. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** High enough that no limit is reached. */
const UNLIMITED = { max: 1_000_000_000, window_s: 60 }

const LOOPBACK = ['127.0.0.0/8', '::1/128']
const GRACE_MS = 1_000

/**
 * Starts the real service in this process: its own database, which `close` removes, a provider that
 * sends to no network, and a clock that stands still until `advance` moves it. Needs `@svc/core`
 * and `@svc/server` beside this package.
 *
 * @throws Error with the packages to install when one of them is missing.
 * @example
 * await using service = await createTestService()
 * await using receiver = await createReceiver({ secret: () => secret, now: service.now })
 * const { secret } = await service.webhook(receiver.url)
 * await service.call('POST', '/api/v1/messages/send', { to: '+14155552671', channel: 'sms', content: { text: 'Hi' } })
 * await receiver.waitFor('message.delivered')
 */
export async function createTestService(options: TestServiceOptions = {}): Promise<TestService> {
  const modules = {
    core: await loadOptional<CoreModule<ServiceRuntime, ServiceCore>>('@svc/core'),
    server: await loadOptional<ServerModule<ServiceCore>>('@svc/server'),
  }
  const folder = mkdtempSync(join(tmpdir(), 'svc-testkit-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  const clock = { ms: (options.at ?? new Date()).getTime() }
  try {
    const { core, app, dispatcher } = await start(modules, { folder, clock, ...options })
    const url = await app.listen({ host: '127.0.0.1', port: 0 })
    const account = await createCaller(url)
    const { call, workspace_id, api_key } = account
    const close = once(async () => {
      await app.close()
      await core.close({ grace_ms: GRACE_MS })
      remove()
    })
    return {
      url,
      workspace_id,
      api_key,
      call,
      now: () => new Date(clock.ms),
      async advance(ms) {
        // Moving the clock would expire the leases of work in flight, as after a long sleep of the
        // machine.
        await dispatcher.idle()
        clock.ms += ms
        await dispatcher.idle()
      },
      idle: () => dispatcher.idle(),
      async webhook(to, { events = ['*'] } = {}) {
        const body = { url: to, events }
        const { webhook } = await call('POST', '/api/v1/webhooks', body, { as: 'owner' })
        return webhook as { id: string; secret: string }
      },
      async sent() {
        const { messages } = await call('GET', '/api/v1/messages?limit=100')
        return messages as SentMessage[]
      },
      close,
      [Symbol.asyncDispose]: close,
    }
  } catch (error) {
    remove()
    throw error
  }
}

async function start(
  modules: {
    core: CoreModule<ServiceRuntime, ServiceCore>
    server: ServerModule<ServiceCore>
  },
  options: { folder: string; clock: { ms: number }; credits?: string },
) {
  const { folder, clock, credits = '1000' } = options
  const system = modules.core.systemRuntime()
  const runtime = { ...system, now: () => new Date(clock.ms), elapsed: () => clock.ms }
  const core = await modules.core.createCore({
    database_url: `file:${join(folder, 'svc.db')}`,
    signup_credits: credits,
    quotas: {
      api_keys: UNLIMITED.max,
      webhooks: UNLIMITED.max,
      webhooks_per_host: UNLIMITED.max,
      contacts: UNLIMITED.max,
      test_messages_per_day: UNLIMITED.max,
      test_bytes_per_day: UNLIMITED.max,
    },
    webhook_targets: { allow_http: true, allow_nets: LOOPBACK, dns: 'system' },
    // The fake clock exists only in this thread.
    threads: 0,
    runtime,
  })
  const app = await modules.server.buildApp(core, {
    config: {
      jwt_secret: randomBytes(32).toString('hex'),
      rates: {
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
      },
      trust_proxy: [],
    },
    now: () => clock.ms,
    newRequestId: runtime.id,
    grace_ms: GRACE_MS,
    load: () => ({ requests: 1, delay_ms: 0 }),
  })
  return { core, app, dispatcher: await core.startDispatch() }
}

function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | null = null
  return () => {
    done ??= work()
    return done
  }
}

/**
 * The parts of `@svc/core` and `@svc/server` that a test service uses. Neither is a dependency of
 * this package, so their types are copied here; a test compares them with the real ones.
 */

/** The service's source of time, ids and random bytes. */
interface ServiceRuntime {
  now(): Date
  elapsed(): number
  id(): string
  bytes(count: number): Buffer
}

/** Sends messages and delivers webhooks. */
interface ServiceDispatcher {
  idle(): Promise<void>
}

/** The service without a framework. */
interface ServiceCore {
  startDispatch(): Promise<ServiceDispatcher>
  close(options?: { grace_ms?: number }): Promise<void>
}

/** The part of `@svc/core` that is used. */
export interface CoreModule<Runtime extends ServiceRuntime, Core extends ServiceCore> {
  systemRuntime(): Runtime
  createCore(options: {
    database_url: string
    signup_credits: string
    quotas: Record<
      | 'api_keys'
      | 'webhooks'
      | 'webhooks_per_host'
      | 'contacts'
      | 'test_messages_per_day'
      | 'test_bytes_per_day',
      number
    >
    webhook_targets: { allow_http: boolean; allow_nets: string[]; dns: 'system' }
    threads: number
    runtime: Runtime
  }): Promise<Core>
}

/** The API, as a Fastify instance. */
interface ServiceApp {
  listen(address: { host: string; port: number }): Promise<string>
  close(): PromiseLike<unknown>
}

/** A rate limit. */
interface Rate {
  max: number
  window_s: number
}

/** The part of `@svc/server` that is used. */
export interface ServerModule<Core extends ServiceCore> {
  buildApp(
    core: Core,
    options: {
      config: {
        jwt_secret: string
        rates: Record<
          | 'general'
          | 'workspace'
          | 'console'
          | 'bulk'
          | 'bulk_estimate'
          | 'auth'
          | 'anonymous'
          | 'failed_auth'
          | 'login_all'
          | 'signup_all',
          Rate
        >
        trust_proxy: string[]
      }
      now: () => number
      newRequestId: () => string
      grace_ms: number
      load: () => { requests: number; delay_ms: number }
    },
  ): Promise<ServiceApp>
}

/**
 * Loads an optional package.
 * @throws Error that names the packages to install.
 */
export async function loadOptional<Module>(name: string): Promise<Module> {
  try {
    return (await import(/* @vite-ignore */ name)) as Module
  } catch (error) {
    if (!isMissing(error, name)) throw error
    throw new Error(
      `createTestService needs ${name}, which is not installed. Install it beside @svc/testkit: npm install --save-dev @svc/core @svc/server`,
      { cause: error },
    )
  }
}

function isMissing(error: unknown, name: string): boolean {
  return error instanceof Error && error.message.includes(`'${name}'`)
}
