import type { Core, ReplicaState, Telemetry } from '@svc/core'
import { collectDefaultMetrics, Registry } from 'prom-client'
import type { MailOutcome } from '../compat/smtp/commands.ts'
import type { Inlet } from '../compat/smtp/inlet.ts'
import { answerScrapes, isOneOfSeveral } from '../one-of-several.ts'
import type { Address } from '../settings/readers.ts'
import { serveMetrics } from './metrics-server.ts'
import { overviewMetrics } from './overview-metrics.ts'
import { type OnAnswered, requestMetrics } from './request-metrics.ts'
import { counter, register } from './series.ts'
import { workMetrics } from './work-metrics.ts'

/** The metrics of a service for Prometheus. */
export interface Metrics extends InletMetrics {
  /** The telemetry for the core's runtime. */
  telemetry: Telemetry
  /** The app calls this function after each answer. */
  onAnswered: OnAnswered
  /**
   * Serves all metrics, or sends them to `runProcesses`, which serves those of all processes; the port is then null.
   * @throws ConfigError when the server cannot listen on the address.
   */
  serve(core: Core, address: Address): Promise<{ port: number | null; close(): Promise<void> }>
}

/** Gauges of the library that are named like counters, which `promtool check metrics` rejects. */
const MISNAMED = ['handles', 'requests', 'resources'].map((of) => `nodejs_active_${of}_total`)

const DISPATCHING = {
  name: 'svc_dispatching',
  help: 'Whether this process sends and delivers, 1 or 0.',
}
const PAUSED = {
  name: 'svc_dispatch_paused',
  help: 'Whether an operator paused all sending, 1 or 0.',
}

/** The metrics of read replicas; they have no series without any. */
const REPLICA_GAUGES = [
  {
    name: 'svc_replica_used',
    help: 'Whether this process reads at a read replica, 1 or 0.',
    type: 'gauge',
    aggregator: 'min',
    of: ({ is_used }) => Number(is_used),
  },
  {
    name: 'svc_replica_lag_seconds',
    help: 'How long the last change took to reach a read replica, or has not reached it.',
    type: 'gauge',
    aggregator: 'max',
    of: ({ lag_ms }) => (lag_ms === null ? null : lag_ms / 1_000),
  },
  {
    name: 'svc_replica_reads_total',
    help: 'Queries that a read replica answered.',
    type: 'counter',
    aggregator: 'sum',
    of: ({ answers }) => answers,
  },
] as const satisfies (Parameters<typeof register>[1] & {
  of: (replica: ReplicaState) => number | null
})[]

/** @param providers the names of all providers, the sandbox included */
export function createMetrics({
  version,
  engine,
  providers,
  log_lines_dropped,
}: {
  version: string
  engine: 'sqlite' | 'postgres'
  providers: readonly string[]
  /** The number of log lines that were dropped. */
  log_lines_dropped: () => number
}): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  for (const name of MISNAMED) registry.removeSingleMetric(name)
  const build = { version, engine, node: process.versions.node }
  const dropped = {
    name: 'svc_log_lines_dropped_total',
    help: 'Log lines that were dropped because of a full disk, a closed pipe or a stalled reader.',
  }
  register(registry, { ...dropped, type: 'counter' }, () => [
    { labels: {}, value: log_lines_dropped() },
  ])
  const info = { name: 'svc_build_info', help: 'Versions and engine as labels; the value is 1.' }
  register(registry, { ...info, type: 'gauge', aggregator: 'first' }, () => [
    { labels: build, value: 1 },
  ])
  return {
    telemetry: workMetrics(registry, providers),
    onAnswered: requestMetrics(registry),
    ...inletMetrics(registry),
    async serve(core, address) {
      const overview = overviewMetrics(registry, core)
      register(registry, { ...DISPATCHING, type: 'gauge', aggregator: 'min' }, () => [
        { labels: {}, value: Number(core.isDispatching()) },
      ])
      register(registry, { ...PAUSED, type: 'gauge', aggregator: 'max' }, () => [
        { labels: {}, value: Number(core.dispatch.isPaused()) },
      ])
      for (const { of, ...named } of REPLICA_GAUGES) {
        register(registry, named, () =>
          core.databaseReplicas().flatMap((replica) => {
            const value = of(replica)
            return value === null ? [] : [{ labels: { replica: replica.name }, value }]
          }),
        )
      }
      if (isOneOfSeveral) {
        const scraped = answerScrapes(async () => {
          await overview.refresh()
          return registry.getMetricsAsJSON()
        })
        return { port: null, ...scraped }
      }
      return serveMetrics(address, {
        type: registry.contentType,
        async scrape() {
          await overview.refresh()
          return registry.metrics()
        },
      })
    },
  }
}

/** The metrics of the SMTP inlet. */
interface InletMetrics {
  /** Counts a mail by its outcome. */
  onMail: (outcome: MailOutcome) => void
  /** Shows the open connections of the inlet. */
  watchInlet(inlet: Pick<Inlet, 'connections'>): void
}

function inletMetrics(registry: Registry): InletMetrics {
  const mails = counter(
    registry,
    {
      name: 'svc_smtp_mails_total',
      help: 'Mails of clients of the SMTP inlet: accepted, refused for good, or deferred with a request to repeat them.',
      labels: ['outcome'],
    },
    [['accepted'], ['refused'], ['deferred']],
  )
  let connections = () => 0
  const name = 'svc_smtp_connections'
  const help = 'Open connections of clients of the SMTP inlet.'
  register(registry, { name, help, type: 'gauge' }, () => [{ labels: {}, value: connections() }])
  return {
    onMail: (outcome) => {
      mails(outcome).value += 1
    },
    watchInlet(inlet) {
      connections = () => inlet.connections()
    },
  }
}
