import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Child, type Handlers, startChild } from './child.ts'

/** What the process of a service is asked. */
export interface ServiceHandlers extends Handlers {
  /** @param input.dispatch whether it sends what it accepts; without that, accepting alone is seen. */
  start(input: {
    dispatch: boolean
    webhook_url: string | null
    webhook_events: string[]
    key: string | null
  }): {
    url: string
    key: string
    secret: string
    metrics_url: string | null
  }
  /** How long its event loop was held up since this was asked before. */
  delay(_: null): { p99_ms: number; max_ms: number }
  /** The longest turn of its event loop since this was asked before, without the time that other processes took. Linux only. */
  turn(_: null): { max_ms: number }
  /** Answers when everything accepted has been sent, and every webhook delivered. */
  idle(_: null): void
  /** Stops sending and delivering; accepting goes on. */
  pause(_: null): void
  /** Ends the pause. */
  resume(_: null): void
  /** Ends it in order. */
  stop(_: null): void
}

/** A service in a process of its own, on an empty database. */
export interface Service {
  child: Child<ServiceHandlers>
  url: string
  key: string
  /** What its webhook's deliveries are signed with. */
  secret: string
  /** Where its metrics are, if it serves them. */
  metrics_url: string | null
  database: string
}

/** Every limit is counted, and none is reached. */
const NO_LIMIT = '999999999/60'

/** What a service runs with that is to be measured and not to be held back. */
export function serviceEnvironment(folder: string): Record<string, string> {
  return {
    HOST: '127.0.0.1',
    PORT: '0',
    SVC_DATA_DIR: folder,
    SVC_RATE_LIMIT_GENERAL: NO_LIMIT,
    SVC_RATE_LIMIT_BULK: NO_LIMIT,
    SVC_RATE_LIMIT_ANONYMOUS: NO_LIMIT,
    SVC_RATE_LIMIT_AUTH: NO_LIMIT,
    SVC_SIGNUP_CREDITS: '900000000',
    SVC_WEBHOOK_ALLOW_HTTP: 'true',
    SVC_WEBHOOK_ALLOW_NETS: '127.0.0.0/8',
  }
}

export interface ServiceOptions {
  dispatch: boolean
  webhook_url?: string | null
  /** What the webhook is told of; deliveries alone where it is not given. */
  webhook_events?: string[]
  /** A SQLite file of its own where none is given. */
  database_url?: string
  /** Of a workspace that another service on the database has made; one is made where none is given. */
  key?: string | null
  node_args?: string[]
  /** More settings. */
  env?: Record<string, string>
}

/** Starts a service whose data is in `folder`/`name`. */
export async function startService(
  folder: string,
  name: string,
  {
    dispatch,
    webhook_url = null,
    webhook_events = ['message.delivered'],
    database_url,
    key = null,
    node_args = [],
    env,
  }: ServiceOptions,
): Promise<Service> {
  const data = join(folder, name)
  mkdirSync(data)
  const child = startChild<ServiceHandlers>('service.mjs', {
    folder: data,
    env: {
      ...serviceEnvironment(data),
      ...(database_url && { SVC_DATABASE_URL: database_url }),
      ...env,
    },
    node_args,
  })
  const started = await child.ask('start', { dispatch, webhook_url, webhook_events, key })
  return { child, ...started, database: join(data, 'svc.db') }
}

/** Gives `work` a folder that is gone afterwards. */
export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
