import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { emptied } from '../crash/evidence.ts'
import { openAccounts } from '../stage/accounts.ts'
import { type Query, queryFile } from '../stage/database.ts'
import { openSignedEndpoint } from '../stage/endpoint.ts'
import { startPostgres } from '../stage/postgres.ts'
import { randomFrom } from '../stage/random.ts'
import {
  levelOf,
  runCommand,
  type Service,
  type ServiceOptions,
  startService,
} from '../stage/serve.ts'
import { until } from '../stage/until.ts'
import { createViolations, type Violations } from '../stage/violations.ts'
import { openClients } from './clients.ts'
import { compare } from './compare.ts'
import { createHistogram, percentile } from './histogram.ts'
import { createOpLog, type OpLog } from './op-log.ts'
import { createOperations } from './operations.ts'
import { type Sample, takeSample } from './sample.ts'

export interface SoakOptions {
  minutes: number
  /** Requests a second. */
  rate: number
  seed: number
  /** An empty folder for the files of the service and the driver. */
  folder: string
  /** Whether the service uses a PostgreSQL that is started for it. */
  postgres: boolean
  /** The command that gets `serve`; default: the built one. */
  command?: readonly string[]
  /** Ends the run early, with its report. */
  signal: AbortSignal
  progress(text: string): void
}

export interface SoakResult {
  seconds: number
  samples: Sample[]
  violations: Violations
  requests: number
  operations: ReadonlyMap<string, number>
  answers: ReturnType<OpLog['counts']>
  stored: { messages: number; events: number; repeated: number }
  log: Service['log']
  ledger: string
}

/** Fewer at a low rate: each connection must be used before the server closes it as idle, after 72 s. */
const CONNECTIONS_MAX = 32
const TICK_MS = 20
const SAMPLE_EVERY_MS = 5_000
/** A long run is sampled less often, so that its samples fit into memory. */
const SAMPLES_MAX = 20_000
/** Shorter runs have a sample after each of this many parts. */
const SAMPLES_MIN = 20
/** Runs of this length have messages that take 30 s. */
const SLOW_MIN_MS = 120_000
/** The maximum of operations in flight; above it, the driver starts no more. */
const RUNNING_MAX = 1_000
const QUIET_MAX_MS = 180_000

/** Runs the service under a steady load, ends it, and compares the stored data with the requests. */
export async function soak(options: SoakOptions): Promise<SoakResult> {
  const { folder, postgres } = options
  const database = postgres ? await startPostgres() : null
  try {
    const env: Record<string, string> = database ? { SVC_DATABASE_URL: database.url } : {}
    const query = database?.query ?? queryFile(join(folder, 'svc.db'))
    const { command } = options
    return await run(options, { folder, env, ...(command && { command }) }, query)
  } finally {
    await database?.stop()
  }
}

async function run(
  options: SoakOptions,
  serviceOptions: ServiceOptions,
  query: Query,
): Promise<SoakResult> {
  const { folder, seed, progress } = options
  const violations = createViolations()
  const log = createOpLog(join(folder, 'driver.db'))
  const receiver = await openSignedEndpoint({
    onForged: violations.rule('every delivery is signed'),
    receive({ id, event, body }) {
      log.received(id, event, body)
      return 200
    },
  })
  const service = await startService(serviceOptions).catch(async (error) => {
    await receiver.close()
    log.close()
    throw error
  })
  const times = { sends: createHistogram(), all: createHistogram() }
  const connections = Math.min(CONNECTIONS_MAX, Math.max(2, Math.ceil(options.rate / 2)))
  const clients = await openClients({ url: service.url, connections }, violations, times)
  try {
    progress(
      `pid ${service.pid} at ${service.url}, started in ${Math.round(service.startup_ms)} ms`,
    )
    const accounts = await openAccounts(service.url, receiver)
    const operations = createOperations({
      accounts,
      random: randomFrom(seed),
      clients,
      log,
      violations,
      slow: options.minutes * 60_000 >= SLOW_MIN_MS,
    })
    const from = performance.now()
    const ended = { early: false }
    service.ended.then(() => {
      ended.early = true
    })
    const load = keepUp(options, operations, () => ended.early)
    const samples = await watch(options, {
      service,
      times,
      log,
      violations,
      from,
      over: load,
    })
    const seconds = (performance.now() - from) / 1_000
    const isEmpty = await emptied(query, { max_ms: QUIET_MAX_MS })
    if (!isEmpty) progress('the queues are not empty in time')
    clients.close()
    await endInOrder(service, ended.early, violations)
    noteLog(service, violations)
    const ledger = await runCommand(['ledger', 'verify'], serviceOptions)
    const wrong = violations.rule('svc ledger verify finds no difference')
    if (ledger.code !== 0) wrong(ledger.output)
    const stored = await compare(log, query, accounts, violations)
    return {
      seconds,
      samples,
      violations,
      requests: clients.requests(),
      operations: operations.counts,
      answers: log.counts(),
      stored,
      log: service.log,
      ledger: ledger.output.trim(),
    }
  } finally {
    await service.end('SIGKILL')
    await receiver.close()
    log.close()
  }
}

/** Starts operations at the given rate, and resolves when the time is over and the last one has ended. */
async function keepUp(
  { minutes, rate, signal }: SoakOptions,
  operations: ReturnType<typeof createOperations>,
  hasEnded: () => boolean,
): Promise<void> {
  const from = performance.now()
  let due = 0
  for (;;) {
    const elapsed = performance.now() - from
    if (signal.aborted || hasEnded() || elapsed >= minutes * 60_000) break
    // Requests that a stall of the machine delayed are skipped: sending them later would be a burst.
    due = Math.max(due, elapsed - 1_000)
    while (due <= elapsed && operations.running() < RUNNING_MAX) {
      due += (1_000 / rate) * operations.begin()
    }
    await pause(TICK_MS)
  }
  await until(() => operations.running() === 0 || hasEnded(), { every_ms: TICK_MS })
}

/** Samples the service until the load has ended. */
async function watch(
  { minutes, folder, progress }: SoakOptions,
  {
    service,
    times,
    log,
    violations,
    from,
    over,
  }: {
    service: Service
    times: { sends: ReturnType<typeof createHistogram>; all: ReturnType<typeof createHistogram> }
    log: OpLog
    violations: Violations
    from: number
    over: Promise<void>
  },
): Promise<Sample[]> {
  const failed = violations.rule('every sample can be taken')
  const samples: Sample[] = []
  const total_ms = minutes * 60_000
  const every = Math.max(Math.min(SAMPLE_EVERY_MS, total_ms / SAMPLES_MIN), total_ms / SAMPLES_MAX)
  let isOver = false
  const end = over.then(() => {
    isOver = true
  })
  let reported_s = 0
  for (let number = 1; ; number++) {
    const left = from + number * every - performance.now()
    if (left > 0) await Promise.race([pause(left), end])
    if (isOver) break
    const at_s = (performance.now() - from) / 1_000
    log.flush()
    try {
      samples.push(await takeSample(service, { at_s, folder, ...times }))
    } catch (error) {
      failed((error as Error).message)
      continue
    }
    if (at_s - reported_s < 60) continue
    progress(
      lineOf(
        samples.filter((each) => each.at_s > reported_s),
        log,
      ),
    )
    reported_s = at_s
  }
  await end
  return samples
}

function lineOf(samples: readonly Sample[], log: OpLog): string {
  const last = samples.at(-1) as Sample
  const sends = samples.map((sample) => sample.sends)
  const at = (share: number) => percentile(sends, share).toFixed(1)
  const { accepted, received } = log.counts()
  return [
    `${Math.round(last.at_s / 60)} min`,
    `accepted ${accepted}`,
    `events ${received}`,
    `sends p50 ${at(0.5)} p99 ${at(0.99)} ms`,
    `RSS ${last.rss_mib.toFixed(0)} heap ${last.heap_mib.toFixed(0)} MiB`,
    `descriptors ${last.descriptors}`,
    `WAL ${last.wal_mib.toFixed(1)} database ${last.database_mib.toFixed(1)} MiB`,
    `waiting ${last.waiting}`,
    `load ${last.load.toFixed(1)}`,
  ].join(' · ')
}

async function endInOrder(
  service: Service,
  hasEnded: boolean,
  { rule }: Violations,
): Promise<void> {
  const alone = rule('the service runs until a signal ends it')
  const inOrder = rule('SIGTERM ends the service with code 0')
  const { code, signal } = await service.end('SIGTERM')
  if (hasEnded) alone(`it exited with ${signal ?? code}`)
  else if (code !== 0) inOrder(`it exited with ${signal ?? code}`)
}

function noteLog({ log }: Service, { rule }: Violations): void {
  const wrong = rule('the service logs no error')
  const isWrong = (level: number) => level === 0 || level >= 50
  const lines = log.kept.filter((line) => isWrong(levelOf(line)))
  const total = [...log.levels].reduce((sum, [level, n]) => sum + (isWrong(level) ? n : 0), 0)
  for (let i = 0; i < total; i++) wrong((lines[i] ?? 'a line that was dropped').slice(0, 300))
}
