import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { type Logger, pino } from 'pino'
import { stdoutLog } from './logging/log-destination.ts'
import { logOptions } from './logging/log-options.ts'
import { serveMetrics } from './metrics/metrics-server.ts'
import type { CollectedMetrics } from './metrics/series.ts'
import { countersOf, METRICS_TYPE, summed } from './metrics/summed.ts'
import type { Message } from './one-of-several.ts'
import { type Config, readConfig, urlOf } from './settings/config.ts'
import { ConfigError } from './settings/variables.ts'

/** When a process that does not end is killed: its requests take at most 10 s, its work in flight then 25 s. */
const END_MAX_MS = 40_000

/** The waits before a process that ended by itself is started again; the last one repeats. */
const RESTART_WAITS_MS = [1_000, 2_000, 5_000, 10_000, 30_000]

/** How long a scrape waits for the metrics of a process. */
const COLLECT_MAX_MS = 2_500

/** How long the last log lines may take to be written. */
const LOG_DRAIN_MAX_MS = 500

/** A process of the service. */
interface Service {
  worker: Worker
  is_ready: boolean
  /** Whether this process was asked to end. */
  is_ending: boolean
  /** Resolves with whether the process became ready; with false if it ended before. */
  ready: Promise<boolean>
  /** Resolves with the exit code. */
  ended: Promise<number>
  /** The last known metrics. */
  metrics: CollectedMetrics
  /** Called when the process has sent its metrics. */
  onMetrics(): void
}

/**
 * Runs the service in several processes, which share its ports. This process only holds the ports, writes the log of
 * all and serves the sums of their metrics. It starts a process again that ends by itself. SIGHUP replaces one process
 * after the other, each when its replacement is ready, so that no request is refused.
 * @param env the environment of the processes, which read their settings at their start
 * @returns the exit code, after `stop` or when the first process did not start; null if the settings name one process.
 * @throws ConfigError for a wrong setting, and for several processes on a SQLite file, which one process owns.
 */
export async function runProcesses({
  env,
  stop,
}: {
  env: NodeJS.ProcessEnv
  stop: AbortSignal
}): Promise<number | null> {
  const config = readConfig(env)
  const processes = numberOf(config)
  if (processes === 1) return null
  const output = stdoutLog()
  const logger = pino(logOptions(config.log_level), output)
  // The processes accept connections themselves. If this process passed them on, those that it has passed to a process
  // that is killed would stay open without an answer.
  cluster.schedulingPolicy = cluster.SCHED_NONE
  cluster.setupPrimary({ stdio: ['ignore', 'pipe', 'inherit', 'ipc'] })
  const group = createGroup(logger, (line) => output.write(`${line}\n`), stop)

  const first = group.start()
  // The process itself reports why it did not start.
  if (!(await first.ready)) return (await first.ended) || 1
  const { metrics_listen } = config
  const scrape = () => group.scrape(output.dropped)
  const scraped =
    metrics_listen && (await serveMetrics(metrics_listen, { type: METRICS_TYPE, scrape }))
  const url = metrics_listen && scraped && urlOf(metrics_listen.host, scraped.port)
  for (let n = 1; n < processes; n++) group.keepStarting(0)
  logger.info({ processes, pid: process.pid, ...(url && { metrics_url: url }) }, 'SIGHUP reloads')
  process.on('SIGHUP', group.replaceAll)
  if (!stop.aborted) await once(stop, 'abort')
  await group.end()
  await scraped?.close()
  await output.drained(LOG_DRAIN_MAX_MS)
  return 0
}

/** @throws ConfigError for several processes on a SQLite file. */
function numberOf({ processes, database_url }: Config): number {
  const isShared = !database_url.startsWith('file:')
  if (processes === 'auto') return isShared ? availableParallelism() : 1
  if (isShared || processes === 1) return processes
  throw new ConfigError(
    `SVC_PROCESSES is ${processes}, but one process owns a SQLite file: set SVC_DATABASE_URL to a PostgreSQL database`,
  )
}

function createGroup(logger: Logger, writeLine: (line: string) => void, stop: AbortSignal) {
  const services = new Set<Service>()
  /** The sums of the counters of all processes that ended: a sum must not fall. */
  let past: CollectedMetrics = []
  let replacing: Promise<void> | null = null
  let replacesAgain = false

  function start(): Service {
    const worker = cluster.fork()
    const { pid, stdout } = worker.process
    const service: Service = {
      worker,
      is_ready: false,
      is_ending: false,
      ready: new Promise((resolve) => {
        worker.on('message', (message: Message) => {
          if (message.type === 'svc:ready') resolve(true)
          if (message.type !== 'svc:metrics') return
          service.metrics = message.metrics
          service.onMetrics()
        })
        worker.once('exit', () => resolve(false))
      }),
      ended: new Promise((resolve) => {
        worker.once('exit', (code, signal) => resolve(signal ? 1 : code))
      }),
      metrics: [],
      onMetrics: () => {},
    }
    services.add(service)
    // A message to a process that has just ended.
    worker.on('error', (err) => logger.warn({ err, pid }, 'a message to a process was lost'))
    if (stdout) createInterface({ input: stdout }).on('line', writeLine)
    service.ready.then((isReady) => {
      service.is_ready = isReady
    })
    service.ended.then(async (code) => {
      services.delete(service)
      service.onMetrics()
      past = await countersOf([past, service.metrics])
      if (service.is_ending || !(await service.ready)) return
      logger.error({ pid, code }, 'a process ended by itself; starting it again')
      await keepStarting(1)
    })
    return service
  }

  /** Starts a process, again and again until one is ready. `failures`: the number of the failed starts before. */
  async function keepStarting(failures: number): Promise<void> {
    for (let n = failures; !stop.aborted; n++) {
      const wait_ms = n === 0 ? 0 : RESTART_WAITS_MS[Math.min(n, RESTART_WAITS_MS.length) - 1]
      await pause(wait_ms, undefined, { signal: stop }).catch(() => {})
      if (stop.aborted || (await start().ready)) return
      logger.error({}, 'a process did not start; trying again')
    }
  }

  async function endOne(service: Service): Promise<void> {
    const { worker } = service
    service.is_ending = true
    if (worker.isConnected()) worker.send({ type: 'svc:stop' } satisfies Message)
    const cut = setTimeout(() => {
      logger.error({ pid: worker.process.pid }, 'a process did not stop; killing it')
      worker.process.kill('SIGKILL')
    }, END_MAX_MS)
    await service.ended
    clearTimeout(cut)
  }

  async function replaceEach(): Promise<void> {
    const old = [...services].filter((one) => one.is_ready && !one.is_ending)
    logger.info({ processes: old.length }, 'replacing the processes')
    for (const service of old) {
      const isReady = !stop.aborted && (await start().ready)
      if (stop.aborted) return
      if (!isReady) return logger.error({}, 'a new process did not start: the others stay')
      await endOne(service)
    }
    logger.info({ processes: services.size }, 'the processes are replaced')
  }

  /** The metrics of a process, or its last known ones if it does not answer. */
  async function collect(service: Service): Promise<CollectedMetrics> {
    const answered = new Promise<void>((resolve) => {
      service.onMetrics = resolve
    })
    if (service.worker.isConnected()) service.worker.send({ type: 'svc:collect' } satisfies Message)
    const late = new AbortController()
    const timeout = pause(COLLECT_MAX_MS, undefined, { signal: late.signal }).catch(() => {})
    await Promise.race([answered, timeout])
    late.abort()
    return service.metrics
  }

  return {
    start,
    keepStarting,
    /** Replaces all processes. A request while it runs replaces all again afterwards. */
    replaceAll(): void {
      replacesAgain = true
      replacing ??= (async () => {
        while (replacesAgain && !stop.aborted) {
          replacesAgain = false
          await replaceEach()
        }
        replacing = null
      })()
    },
    async scrape(log_lines_dropped: number): Promise<string> {
      const ready = [...services].filter((one) => one.is_ready)
      const own = [
        sumOf('svc_processes', 'Processes of the service that are ready.', 'gauge', ready.length),
        // The processes write to this one, which drops lines if its own reader is slow.
        sumOf('svc_log_lines_dropped_total', '', 'counter', log_lines_dropped),
      ]
      const collected = await Promise.all(ready.map(collect))
      return summed([...collected, past, own])
    },
    /** Ends all processes; also those that are starting. */
    async end(): Promise<void> {
      while (services.size > 0) await Promise.all([...services].map(endOne))
      await replacing
    },
  }
}

function sumOf(name: string, help: string, type: 'counter' | 'gauge', value: number) {
  return { name, help, type, aggregator: 'sum', values: [{ labels: {}, value }] }
}
