/**
 * The parts of `@svc/core` and `@svc/server` that a test service uses. Neither is a dependency of
 * this package, so their types are copied here; a test compares them with the real ones.
 */

/** The service's source of time, ids and random bytes. */
export interface ServiceRuntime {
  now(): Date
  elapsed(): number
  id(): string
  bytes(count: number): Buffer
}

/** Sends messages and delivers webhooks. */
export interface ServiceDispatcher {
  idle(): Promise<void>
}

/** The service without a framework. */
export interface ServiceCore {
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
export interface ServiceApp {
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
