import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Core, createCore, type Dispatcher, systemRuntime } from '@svc/core'
import { RATES, type RateLimit } from '@svc/core/contract'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { buildApp } from '../src/app.ts'
import { logOptions } from '../src/log.ts'
import { accountsOf } from './accounts.ts'
import { callerOf } from './call.ts'
import { within } from './within.ts'

export const JWT_SECRET = 'a secret of the tests, of more than 32 bytes'

/** How long whatever is under way may take to end. */
const END_MAX_MS = 5_000

/** A limit that no test reaches, for tests that are not about limits. */
const UNLIMITED: RateLimit = { max: 1_000_000_000, window_s: 60 }

/** A line of the service's log. */
export type LogLine = Record<string, unknown> & { level: number; msg: string }

/** pino's number for an error. */
const ERROR_LEVEL = 50

export interface WorldOptions {
  /** `'specified'` for those of the contract; a bucket that is not named is never full. */
  rates?: 'specified' | Partial<Record<keyof typeof RATES, RateLimit>>
  trust_proxy?: string[]
  signup_credits?: string
  /** Whether webhooks may go to plain http; true unless said otherwise. */
  allow_http?: boolean
  /** Whether messages are sent and webhooks delivered. */
  dispatch?: boolean
  /** Whether it listens on a port, for tests that need sockets. */
  listen?: boolean
  log_level?: string
  grace_ms?: number
  /** Puts something else in place of parts of the core, to see what the server makes of it. */
  alter?: (core: Core) => Core
}

export type World = Awaited<ReturnType<typeof openWorld>>

/**
 * The real service on a throw-away database, with a clock that stands still until it is moved. `close` throws when
 * something was left under way, and when a fault was logged that no test took note of.
 */
export async function openWorld(options: WorldOptions = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-server-'))
  const socketsBefore = openSockets()
  const clock = { ms: Date.parse('2026-05-04T09:00:00.000Z') }
  const lines: LogLine[] = []
  const logger = pino(logOptions(options.log_level ?? 'error'), {
    write: (line) => void lines.push(JSON.parse(line)),
  })
  const runtime = { ...systemRuntime(logger), now: () => new Date(clock.ms) }
  const core = await createCore({
    database_url: `file:${join(folder, 'svc.db')}`,
    signup_credits: options.signup_credits ?? '0',
    webhook_targets: { allow_http: options.allow_http ?? true },
    threads: 0,
    runtime,
  })
  const app = await buildApp(options.alter?.(core) ?? core, {
    config: {
      jwt_secret: JWT_SECRET,
      rates: ratesOf(options.rates),
      trust_proxy: options.trust_proxy ?? [],
    },
    logger,
    now: () => clock.ms,
    newRequestId: runtime.id,
    ...(options.grace_ms !== undefined && { grace_ms: options.grace_ms }),
  })
  const dispatcher = options.dispatch ? await core.startDispatch() : null
  const url = options.listen ? await app.listen({ host: '127.0.0.1', port: 0 }) : null
  const { call, underWay } = callerOf(app)
  const takeFaults = () => lines.splice(0).filter(({ level }) => level >= ERROR_LEVEL)

  /** Throws when requests are under way, work does not end, or a fault was logged. */
  async function settle(): Promise<void> {
    if (underWay() > 0) throw new Error(`${underWay()} requests were left under way`)
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
    /** Where it listens. */
    url: url ?? 'http://not-listening.invalid',
    get dispatcher(): Dispatcher {
      if (!dispatcher) throw new Error('this world does not dispatch')
      return dispatcher
    },
    now: () => new Date(clock.ms),
    /** Sees to the end what is due, moves the clock, and sees to the end what is due then. */
    async advance(ms: number): Promise<void> {
      // Under way work would find its lease run out, as after a long sleep of the machine.
      await dispatcher?.idle()
      clock.ms += ms
      await dispatcher?.idle()
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

/** A world for the tests around it: opened before the first, looked at after each, closed after the last. */
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

function ratesOf(rates: WorldOptions['rates'] = {}): Record<keyof typeof RATES, RateLimit> {
  if (rates === 'specified') return RATES
  return {
    general: UNLIMITED,
    bulk: UNLIMITED,
    auth: UNLIMITED,
    anonymous: UNLIMITED,
    failed_auth: UNLIMITED,
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
