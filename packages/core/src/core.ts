import { type ApiKeys, createApiKeys } from './api-keys/api-keys.ts'
import { createPricing, DEFAULT_PRICES, type Prices } from './channels/price.ts'
import { parseCredits } from './contract/units.ts'
import { type Credits, createCredits } from './credits/credits.ts'
import { type Dispatcher, startDispatcher } from './dispatch/dispatcher.ts'
import { createPerformer, type Performer } from './dispatch/performer.ts'
import { createRouting } from './dispatch/routing.ts'
import { createMessages, type Messages } from './messages/messages.ts'
import { type Runtime, systemRuntime } from './runtime.ts'
import { createSecrets } from './secrets/secrets.ts'
import { openStorage } from './storage/open.ts'
import type { TargetPolicy } from './webhooks/target.ts'
import { createWebhooks, type Webhooks } from './webhooks/webhooks.ts'
import { createPasswords } from './workspaces/password.ts'
import { createWorkspaces, type Workspaces } from './workspaces/workspaces.ts'

export interface CoreOptions {
  /** `file:/path/to/svc.db` (SQLite) or `postgres://…`. */
  database_url: string
  /** Decimal strings of credits; those left out keep the specification's prices. */
  prices?: Partial<Prices>
  /** Credits a new workspace starts with, as a decimal string. */
  signup_credits?: string
  webhook_targets?: TargetPolicy
  /**
   * Threads for providers and webhooks; 1 unless told. 0 does everything in this thread, which a `runtime` with a
   * simulated clock needs.
   */
  threads?: number
  runtime?: Runtime
  /** Told when the database failed in a way that only a restart mends; the process should end. */
  onFailure?: (error: Error) => void
}

/** The whole service without a framework. */
export interface Core {
  workspaces: Workspaces
  apiKeys: ApiKeys
  credits: Credits
  messages: Messages
  webhooks: Webhooks
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

const GRACE_MS = 25_000

/** Opens the service on its database, creating and migrating that as needed. */
export async function createCore(options: CoreOptions): Promise<Core> {
  const runtime = options.runtime ?? systemRuntime()
  const { threads = 1 } = options
  const storage = await openStorage(options.database_url, runtime, {
    onFailure: options.onFailure,
  })
  let dispatcher: Dispatcher | null = null
  let starting: Promise<Dispatcher> | null = null

  async function start(): Promise<Dispatcher> {
    const right = await storage.startDispatch()
    dispatcher = startDispatcher({
      storage,
      runtime,
      right,
      performer: await openPerformer(runtime, threads),
      routing: createRouting({}),
    })
    return dispatcher
  }

  const apiKeys = createApiKeys({ storage, runtime })
  return {
    workspaces: createWorkspaces({
      storage,
      runtime,
      passwords: createPasswords(),
      signupCredits: parseCredits(options.signup_credits ?? '0'),
    }),
    apiKeys,
    credits: createCredits({ storage, runtime }),
    messages: createMessages({
      storage,
      runtime,
      priceOf: createPricing({ ...DEFAULT_PRICES, ...options.prices }),
      onAccepted: () => dispatcher?.wake(),
    }),
    webhooks: createWebhooks({
      storage,
      runtime,
      targets: options.webhook_targets ?? { allow_http: false },
    }),
    secret: createSecrets({ storage, runtime }),
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
      await apiKeys.close()
      await storage.close()
    },
  }
}

async function openPerformer(runtime: Runtime, threads: number): Promise<Performer> {
  if (threads === 0) return createPerformer({ now: runtime.now })
  const { createPool } = await import('./dispatch/pool.ts')
  return createPool({ threads, log: runtime.log })
}
