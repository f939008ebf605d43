import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Child, type Handlers, startChild } from './child.ts'

/** The requests of a service's process. */
export interface ServiceHandlers extends Handlers {
  /** @param input.dispatch whether it sends the accepted messages; without it, only accepting is measured. */
  start(input: {
    dispatch: boolean
    webhook_url: string | null
    webhook_events: string[]
    key: string | null
  }): {
    url: string
    key: string
    workspace_id: string
    secret: string
    metrics_url: string | null
    smtp_url: string | null
  }
  /** A test key of the workspace that `start` created. */
  testKey(_: null): string
  /** The delay of its event loop since the last call. */
  delay(_: null): { p99_ms: number; max_ms: number }
  /** The longest turn of its event loop since the last call, without the time of other processes. Linux only. */
  turn(_: null): { max_ms: number }
  /** Resolves when every accepted message is sent, and every webhook is delivered. */
  idle(_: null): void
  /** Stops sending and delivering; accepting continues. */
  pause(_: null): void
  /** Ends the pause. */
  resume(_: null): void
  /** Stops it cleanly. */
  stop(_: null): void
}

/** A service in a separate process, on an empty database. */
export interface Service {
  child: Child<ServiceHandlers>
  url: string
  key: string
  /** The workspace that `start` created; empty with a key of another service. */
  workspace_id: string
  /** The signing secret of its webhook's deliveries. */
  secret: string
  /** The address of its metrics, if it serves them. */
  metrics_url: string | null
  /** The address of its SMTP inlet, if it has one. */
  smtp_url: string | null
  database: string
}

/** Every limit is counted, and none is reached. */
const NO_LIMIT = '999999999/60'

/** The settings of a service under measurement, without limits. */
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
  /** The events of the webhook; default: only deliveries. */
  webhook_events?: string[]
  /** The database; default: a new SQLite file. */
  database_url?: string
  /** The key of a workspace that another service on the database has created; default: a new one. */
  key?: string | null
  node_args?: string[]
  /** Further settings. */
  env?: Record<string, string>
}

/** Starts a service with its data in `folder`/`name`. */
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
  const child = startChild<ServiceHandlers>('stage/service.mjs', {
    folder: data,
    env: {
      ...serviceEnvironment(data),
      ...(database_url && { SVC_DATABASE_URL: database_url }),
      ...env,
    },
    node_args,
  })
  const started = await child.request('start', { dispatch, webhook_url, webhook_events, key })
  return { child, ...started, database: join(data, 'svc.db') }
}

/** Passes a temporary folder to `work`, and removes it afterwards. */
export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
