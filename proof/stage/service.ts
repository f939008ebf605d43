import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Child, type Handlers, startChild } from './child.ts'
import { settingsOf } from './settings.ts'
import type { Stage } from './stage.ts'

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
  /** Its resident memory now, and the most that it has had. */
  memory(_: null): { rss_mb: number; peak_mb: number }
  /** Resolves when every accepted message is sent, and every webhook is delivered. */
  idle(_: null): void
  /** Sweeps now. Only with `dispatch`. */
  sweep(_: null): void
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
  /** Stops it cleanly, and resolves when it has ended: a profile is written at the end. */
  stop(): Promise<void>
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

/** Starts a service with its data in the folder `name` of the stage. */
export async function startService(
  stage: Stage,
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
  const data = join(stage.folder, name)
  mkdirSync(data)
  const child = startChild<ServiceHandlers>({ ...stage, folder: data }, 'stage/service.mjs', {
    env: {
      ...settingsOf(data),
      ...(database_url && { SVC_DATABASE_URL: database_url }),
      ...env,
    },
    node_args,
  })
  const started = await child.request('start', { dispatch, webhook_url, webhook_events, key })
  return {
    child,
    ...started,
    database: join(data, 'svc.db'),
    async stop() {
      await child.request('stop', null)
      await child.end()
    },
  }
}
