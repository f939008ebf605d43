import { type Child, startChild } from '../stage/child.ts'
import { onStage } from '../stage/stage.ts'
import { drained } from './end-to-end.ts'
import { type BenchOptions, count, type Figure, median, quantile } from './figure.ts'
import { inRounds, openPaths, type Path, type PathName } from './paths.ts'
import type { LoadHandlers } from './processes/load.ts'

const PER_S = 100

const PATHS: readonly PathName[] = ['SQLite', 'PostgreSQL', 'graphile-worker', 'BullMQ']

/** The result of one round. */
export interface Round {
  /** Seconds of CPU for each 1,000 messages, of the path's process and its database. */
  cpu_s: number
  /** From the 201 to the webhook. */
  p50_ms: number
  p99_ms: number
}

/**
 * The cost and the latency of a steady 100 messages a second, from the request to the webhook: the service on both
 * engines, and two peers for reference. In turns.
 */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  return onStage(async (stage) => {
    const load = startChild<LoadHandlers>(stage, 'bench/processes/load.ts')
    const opened = await openPaths(stage, PATHS)
    const { rounds, ms } = quick ? { rounds: 2, ms: 5_000 } : { rounds: 5, ms: 10_000 }
    const measured = await inRounds(opened, rounds, (path) => measureSteady(load, path, ms))
    return figures(measured, opened.failures)
  })
}

/**
 * Sends at the steady rate for `ms`, and waits for the last webhook.
 * @throws Error when webhooks do not arrive.
 */
export async function measureSteady(
  load: Child<LoadHandlers>,
  path: Path,
  ms: number,
): Promise<Round> {
  const { url, key, receiver } = path
  const before = (await receiver.request('count', null)).messages
  const cpu_ms = await path.cpu()
  const { accepted } = await load.request('pace', { url, key, per_s: PER_S, ms })
  const { messages } = await drained(receiver, before + accepted.length)
  const cpu_s = ((await path.cpu()) - cpu_ms) / accepted.length
  if (messages - before !== accepted.length) {
    throw new Error(`${messages - before} of ${accepted.length} webhooks arrived`)
  }
  const ids = accepted.map(({ id }) => id)
  const arrivals = await receiver.request('arrivals', ids)
  const waits = accepted.map(({ at_ms }, i) => (arrivals[i] as number) - at_ms)
  return { cpu_s, p50_ms: quantile(waits, 0.5), p99_ms: quantile(waits, 0.99) }
}

function figures(
  measured: ReadonlyMap<PathName, Round[]>,
  failures: ReadonlyMap<PathName, string>,
): Figure[] {
  const of = (path: PathName, field: keyof Round) =>
    (measured.get(path) ?? []).map((round) => round[field])
  const figure = (path: PathName, field: keyof Round, unit: 's' | 'ms'): Figure => {
    const what =
      field === 'cpu_s' ? 'CPU for 1,000 messages' : `${field.slice(0, 3)} to the webhook`
    const base = { name: `steady, ${what}, ${path}`, unit }
    const missing = failures.get(path)
    if (missing) return { ...base, value: Number.NaN, missing }
    const rounds = of(path, field)
    const others = (['graphile-worker', 'BullMQ'] as const)
      .filter((peer) => measured.has(peer))
      .map((peer) => `${peer} ${count(median(of(peer, field)))} ${unit}`)
    const raw = `rounds ${rounds.map(count).join(', ')}`
    return { ...base, value: median(rounds), note: others.join(', '), raw }
  }
  return [
    figure('SQLite', 'cpu_s', 's'),
    figure('PostgreSQL', 'cpu_s', 's'),
    figure('PostgreSQL', 'p50_ms', 'ms'),
    figure('PostgreSQL', 'p99_ms', 'ms'),
    figure('SQLite', 'p50_ms', 'ms'),
    figure('SQLite', 'p99_ms', 'ms'),
  ]
}
