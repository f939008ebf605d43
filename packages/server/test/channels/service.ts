import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type CallbackRequest,
  type Core,
  type CoreOptions,
  createCore,
  type Dispatcher,
  type ProviderOption,
  systemRuntime,
} from '@svc/core'
import { RATES, type RateLimit } from '@svc/core/contract'
import { verifyLedger } from '@svc/core/operate'
import { pino } from 'pino'
import { afterAll, beforeAll, expect } from 'vitest'
import { makeMigratedFile } from '../../../core/test/migrated-file.ts'
import { buildApp } from '../../src/app.ts'
import { logOptions } from '../../src/logging/log-options.ts'
import { type Account, accountsOf } from '../accounts.ts'
import { type Call, expectStatus } from '../call.ts'
import { type Arrival, openReceiver } from '../receiver.ts'
import { within } from '../within.ts'
import { BEGINNING_MS, JWT_SECRET, type LogLine, QUIET } from '../world.ts'
import { httpCaller } from './http-caller.ts'

/** The public URL of the service: signed addresses begin with it, on any port. */
export const PUBLIC_URL = 'https://svc.test'

/** Part of every text that is sent, and of no log line. */
export const CANARY = 'canary-of-the-text'

const END_MAX_MS = 10_000
const UNLIMITED = { max: 1_000_000_000, window_s: 60 }

/** A webhook event. */
export interface WebhookEvent {
  event: string
  data: Record<string, unknown> & { message_id: string; sequence?: number }
}

/** A workspace that is ready to send. */
export interface Tenant extends Account {
  key: string
}

export interface ServiceOptions {
  /** Called with the core before the API is put over it; functions that it replaces get decoded requests. */
  prepare?: (core: Core) => void
  /** The simulated time; peers that report times share it. */
  clock?: { ms: number }
  providers: readonly ProviderOption[]
  /** Texts that no log line may contain, besides `CANARY`. */
  secrets?: readonly string[]
  reply_texts?: CoreOptions['reply_texts']
  /** A bucket without an entry is unlimited. */
  rates?: Partial<Record<keyof typeof RATES, RateLimit>>
}

export type Service = Awaited<ReturnType<typeof openService>>

type Body = Awaited<ReturnType<Call>>['body']

/**
 * The service as operators run it: its API on a port, a database on disk, its dispatcher, and providers that point to
 * local peers. Time moves only on demand. `close` throws unless the ledger is consistent and the log clean.
 */
export async function openService(options: ServiceOptions) {
  const { clock = { ms: BEGINNING_MS }, secrets = [] } = options
  const folder = mkdtempSync(join(tmpdir(), 'svc-channels-'))
  const file = join(folder, 'svc.db')
  await makeMigratedFile(file)
  const database_url = `file:${file}`
  const lines: LogLine[] = []
  const receiver = await openReceiver()
  let providers = options.providers
  let running = await start()

  async function start() {
    const logger = pino(logOptions('trace'), { write: (line) => void lines.push(JSON.parse(line)) })
    const now = () => new Date(clock.ms)
    const runtime = { ...systemRuntime(logger), now, elapsed: () => clock.ms }
    const core = await createCore({
      database_url,
      providers,
      public_url: () => PUBLIC_URL,
      webhook_targets: { allow_http: true, allow_nets: ['127.0.0.0/8'] },
      reply_texts: options.reply_texts,
      threads: 0,
      runtime,
    })
    options.prepare?.(core)
    const unlimited = Object.fromEntries(Object.keys(RATES).map((name) => [name, UNLIMITED]))
    const rates = { ...unlimited, ...options.rates }
    const app = await buildApp(core, {
      config: { jwt_secret: JWT_SECRET, rates: rates as typeof RATES, trust_proxy: [] },
      public_url: () => PUBLIC_URL,
      now: () => clock.ms,
      load: () => QUIET,
      logger,
    })
    const url = await app.listen({ host: '127.0.0.1', port: 0 })
    const dispatcher = await core.startDispatch()
    const call = httpCaller(url)
    return { core, app, url, dispatcher, call, ...accountsOf(core, call) }
  }

  const events = (): WebhookEvent[] => receiver.arrivals.map(({ body }) => JSON.parse(String(body)))

  async function messageOf(key: string, id: string): Promise<Body> {
    const answer = await running.call('GET', `/api/v1/messages/${id}`, { key })
    return expectStatus(200, answer).body.data.message
  }

  async function idle(): Promise<void> {
    await within(END_MAX_MS, 'the dispatcher to be idle', running.dispatcher.idle())
  }

  async function end(grace_ms: number): Promise<void> {
    await running.app.close()
    await running.core.close({ grace_ms })
  }

  return {
    clock,
    lines,
    events,
    messageOf,
    idle,
    get core(): Core {
      return running.core
    },
    get dispatcher(): Dispatcher {
      return running.dispatcher
    },
    get url(): string {
      return running.url
    },
    call: ((...args) => running.call(...args)) as Call,
    send: (...args: Parameters<typeof running.send>) => running.send(...args),
    balance: (owner: Account) => running.balance(owner),
    /** The requests at the webhook, with their signatures. */
    arrivals: (): readonly Arrival[] => receiver.arrivals,
    /** A workspace with credits, a key, and a webhook for all events. */
    async tenant(credits = 100): Promise<Tenant> {
      const owner = await running.signup({ credits })
      const { key } = await running.key(owner)
      await running.webhook(owner, { url: receiver.url, events: ['*'] })
      return { ...owner, key }
    },
    /** Sends a message that must be accepted; returns its id. */
    async accepted(key: string, body: object): Promise<string> {
      return expectStatus(201, await running.send(key, body)).body.data.message_id
    },
    /** The events of a message, in their order. */
    eventsOf(id: string): string[] {
      const mine = events().filter(({ data }) => data.message_id === id)
      return mine
        .sort((a, b) => (a.data.sequence ?? 0) - (b.data.sequence ?? 0))
        .map(({ event }) => event)
    },
    async statusOf(key: string, id: string): Promise<string> {
      return (await messageOf(key, id)).status
    },
    async timelineOf(key: string, id: string): Promise<Body[]> {
      const answer = await running.call('GET', `/api/v1/messages/${id}/timeline`, { key })
      return expectStatus(200, answer).body.data.timeline
    },
    /** Finishes the due work, moves the clock, and finishes the work that is due then. */
    async advance(ms: number): Promise<void> {
      await idle()
      clock.ms += ms
      await idle()
    },
    /** Makes a provider's request from outside; returns status and text. */
    async called({ method, url, headers, body }: CallbackRequest) {
      if (!url.startsWith(PUBLIC_URL)) throw new Error(`a callback to ${new URL(url).origin}`)
      const response = await fetch(running.url + url.slice(PUBLIC_URL.length), {
        method,
        headers: headers as Record<string, string>,
        ...(method === 'POST' && { body: Buffer.from(body) }),
      })
      return { status: response.status, text: await response.text() }
    },
    /** Closes without a wait for work in flight, and starts again on the same database. */
    async restart(others: readonly ProviderOption[] = providers): Promise<void> {
      await end(0)
      providers = others
      running = await start()
    },
    async close(): Promise<void> {
      try {
        await idle()
        await within(END_MAX_MS, 'the service to close', end(5_000))
        const report = await verifyLedger(database_url, { now: () => new Date(clock.ms) })
        expect(report.differences).toEqual([])
        const log = lines.map((line) => JSON.stringify(line)).join('\n')
        expect(log).toContain('message.attempted')
        for (const secret of [CANARY, ...secrets]) expect(log).not.toContain(secret)
        expect(log).not.toMatch(NUMBER)
      } finally {
        await receiver.close()
        rmSync(folder, { recursive: true, force: true })
      }
    },
  }
}

/** A service for the tests around it: opened before the first; checked and closed after the last. */
export function useStage<Stage extends { close(): Promise<void> }>(
  open: () => Promise<Stage>,
): () => Stage {
  let stage: Stage | undefined
  beforeAll(async () => {
    stage = await open()
  })
  afterAll(() => stage?.close())
  return () => {
    if (!stage) throw new Error('the stage is not set up yet')
    return stage
  }
}

/** A number of `newNumber`, as any provider writes it. */
const NUMBER = /\b1415556\d{4}\b/

let numbers = 0

/** A number without earlier messages. */
export function newNumber(): string {
  numbers += 1
  return `+1415556${String(numbers).padStart(4, '0')}`
}
