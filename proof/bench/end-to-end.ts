import { setTimeout as pause } from 'node:timers/promises'
import { Svc } from '@svc/client'
import { type Child, startChild } from '../stage/child.ts'
import { onStage } from '../stage/stage.ts'
import { until } from '../stage/until.ts'
import { type BenchOptions, count, type Figure, medianOf } from './figure.ts'
import { inRounds, openPaths, type Path, type PathName } from './paths.ts'
import type { LoadHandlers } from './processes/load.ts'
import { against } from './rounds.ts'

const CONNECTIONS = 32

/** The maximum of messages in flight: enough to fill every batch, too few for a growing backlog. */
const BACKLOG_MAX = 2_000

/** The interval at which the sender is notified of the receiver's progress. */
const TELL_MS = 20

/** The maximum time until the last messages arrive. */
const DRAIN_MS = 30_000

const PATHS: readonly PathName[] = [
  'SQLite',
  'gateway',
  'PostgreSQL',
  'BullMQ',
  'pg-boss',
  'graphile-worker',
]

/** Each ratio: ours, the peer's. */
const RATIOS: readonly [PathName, PathName][] = [
  ['SQLite', 'BullMQ'],
  ['PostgreSQL', 'BullMQ'],
  ['PostgreSQL', 'pg-boss'],
  ['PostgreSQL', 'graphile-worker'],
]

/** The result of one round. */
export interface Round {
  sent: number
  /** From the first request to the last webhook. */
  per_s: number
  /** Microseconds of CPU for each message, of the path's process and its database. */
  cpu_us: number
}

/**
 * Messages a second from the first request to the last signed webhook received, all on this machine: the service on
 * both engines with the sandbox, through a gateway with receipts by callback, and durable queues behind the same
 * framework. In turns.
 */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  return onStage(async (stage) => {
    const load = startChild<LoadHandlers>(stage, 'bench/processes/load.ts')
    const opened = await openPaths(stage, PATHS)
    const { rounds, ms } = quick ? { rounds: 3, ms: 2_500 } : { rounds: 5, ms: 6_000 }
    const sent = new Map<Path, number>()
    const measured = await inRounds(opened, rounds, async (path) => {
      const round = await measureEndToEnd(load, path, ms)
      sent.set(path, (sent.get(path) ?? 0) + round.sent)
      await verifyAll(path, sent.get(path) as number)
      return round
    })
    return figures(measured, opened.failures)
  })
}

/**
 * Sends for `ms` with a bounded number of messages in flight, and waits for the last webhook.
 * @throws Error when webhooks do not arrive.
 */
export async function measureEndToEnd(
  load: Child<LoadHandlers>,
  path: Path,
  ms: number,
): Promise<Round> {
  const { url, key, receiver } = path
  const before = (await receiver.request('count', null)).messages
  const cpu_ms = await path.cpu()
  const relay = startRelay(load, receiver, before)
  const from_ms = performance.timeOrigin + performance.now()
  const options = { urls: [url], key, connections: CONNECTIONS, ms, backlog_max: BACKLOG_MAX }
  const { sent } = await load.request('run', options)
  const { messages, last_at_ms } = await drained(receiver, before + sent)
  await relay.stop()
  if (messages !== before + sent)
    throw new Error(`${messages - before} of ${sent} webhooks arrived`)
  const cpu_us = (((await path.cpu()) - cpu_ms) * 1000) / sent
  return { sent, per_s: (sent * 1000) / (last_at_ms - from_ms), cpu_us }
}

function figures(
  measured: ReadonlyMap<PathName, Round[]>,
  failures: ReadonlyMap<PathName, string>,
): Figure[] {
  const rounds = (name: PathName) => measured.get(name) ?? []
  const failureOf = (...names: PathName[]) => {
    const failed = names.find((name) => failures.has(name))
    return failed && { missing: `${failed}: ${failures.get(failed)}` }
  }
  const speed = (name: string, path: PathName): Figure => {
    const base = { name, unit: '/s' } as const
    const missing = failureOf(path)
    if (missing) return { ...base, value: Number.NaN, ...missing }
    const all = rounds(path)
    return {
      ...base,
      value: medianOf(all, 'per_s'),
      note: `${count(medianOf(all, 'cpu_us'))} µs of CPU each`,
      raw: `rounds ${all.map(({ per_s }) => count(per_s)).join(', ')}`,
    }
  }
  const ratio = ([ours, theirs]: [PathName, PathName]): Figure => {
    const base = { name: `end-to-end, ${ours} against ${theirs}`, unit: 'x' } as const
    const missing = failureOf(ours, theirs)
    if (missing) return { ...base, value: Number.NaN, ...missing }
    const { ratios, ...figure } = against(rounds(ours), rounds(theirs))
    const side = (name: PathName) =>
      `${name} ${count(medianOf(rounds(name), 'per_s'))}/s with ${count(medianOf(rounds(name), 'cpu_us'))} µs of CPU each`
    return {
      ...base,
      ...figure,
      raw: `${side(ours)}; ${side(theirs)}; ratios ${ratios.map(count).join(', ')}`,
    }
  }
  return [
    speed('end-to-end', 'SQLite'),
    speed('end-to-end, through a gateway', 'gateway'),
    speed('end-to-end, PostgreSQL', 'PostgreSQL'),
    ...RATIOS.map(ratio),
  ]
}

/** Notifies the sender of the receiver's progress, until stopped. */
function startRelay(load: Child<LoadHandlers>, receiver: Path['receiver'], before: number) {
  let isStopped = false
  const ended = (async () => {
    while (!isStopped) {
      const { messages } = await receiver.request('count', null)
      await load.request('seen', messages - before)
      await pause(TELL_MS)
    }
  })()
  ended.catch(() => {})
  return {
    stop() {
      isStopped = true
      return ended
    },
  }
}

/** Resolves when that number of messages was reported, or after the maximum time. */
export async function drained(receiver: Path['receiver'], expected: number) {
  const count = () => receiver.request('count', null)
  const isDrained = async () => (await count()).messages >= expected
  await until(isDrained, { max_ms: DRAIN_MS, every_ms: TELL_MS })
  return count()
}

/** @throws Error when a message or a webhook was lost, or a signature was wrong. */
async function verifyAll({ url, key, receiver, service }: Path, sent: number): Promise<void> {
  const { messages, forged } = await receiver.request('count', null)
  const found: Record<string, number> = { reported: messages }
  if (service) {
    const client = new Svc({ baseUrl: url, apiKey: key })
    const total = async (filter: { status?: 'delivered' }) =>
      (await client.messages.list({ limit: 1, ...filter })).pagination.total
    found.stored = await total({})
    found.delivered = await total({ status: 'delivered' })
  }
  if (Object.values(found).some((number) => number !== sent) || forged > 0) {
    throw new Error(
      `of ${sent} accepted messages: ${JSON.stringify(found)}, ${forged} wrong signatures`,
    )
  }
}
