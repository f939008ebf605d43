import type { Core, Telemetry } from '@svc/core'
import { collectDefaultMetrics, Registry } from 'prom-client'
import type { Address } from '../settings/readers.ts'
import { serveMetrics } from './metrics-server.ts'
import { overviewMetrics } from './overview-metrics.ts'
import { type OnAnswered, requestMetrics } from './request-metrics.ts'
import { register } from './series.ts'
import { workMetrics } from './work-metrics.ts'

/** What a service tells Prometheus. */
export interface Metrics {
  /** For the core's runtime. */
  telemetry: Telemetry
  /** For the app. */
  onAnswered: OnAnswered
  /**
   * Serves it all.
   * @throws ConfigError when the address cannot be listened on.
   */
  serve(core: Core, address: Address): Promise<{ port: number; close(): Promise<void> }>
}

/** The library's gauges that are called as counters are; `promtool check metrics` takes no offence at the rest. */
const MISNAMED = ['handles', 'requests', 'resources'].map((of) => `nodejs_active_${of}_total`)

/** @param providers the names of all that may carry messages. */
export function createMetrics({
  version,
  engine,
  providers,
  log_lines_dropped,
}: {
  version: string
  engine: 'sqlite' | 'postgres'
  providers: readonly string[]
  /** How many lines of the log could not be written. */
  log_lines_dropped: () => number
}): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  for (const name of MISNAMED) registry.removeSingleMetric(name)
  const build = { version, engine, node: process.versions.node }
  const dropped = {
    name: 'svc_log_lines_dropped_total',
    help: 'Log lines that a full disk, a closed pipe or a reader that does not read refused.',
  }
  register(registry, { ...dropped, type: 'counter' }, () => [
    { labels: {}, value: log_lines_dropped() },
  ])
  gauge(registry, 'svc_build_info', 'What runs, as labels of a 1.', () => 1, build)
  return {
    telemetry: workMetrics(registry, providers),
    onAnswered: requestMetrics(registry),
    serve(core, address) {
      const overview = overviewMetrics(registry, core)
      gauge(registry, 'svc_dispatching', 'Whether this process sends and delivers, 1 or 0.', () =>
        Number(core.isDispatching()),
      )
      gauge(
        registry,
        'svc_dispatch_paused',
        'Whether an operator stopped all sending, 1 or 0.',
        () => Number(core.dispatch.isPaused()),
      )
      return serveMetrics(address, {
        type: registry.contentType,
        async scrape() {
          await overview.look()
          return registry.metrics()
        },
      })
    },
  }
}

function gauge(
  registry: Registry,
  name: string,
  help: string,
  value: () => number,
  labels: Record<string, string> = {},
): void {
  register(registry, { name, help, type: 'gauge' }, () => [{ labels, value: value() }])
}
