import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { LIMITS } from '@svc/core/contract'
import { between, type Child, startChild } from '../stage/child.ts'
import { onStage } from '../stage/stage.ts'
import { until } from '../stage/until.ts'
import { type BenchOptions, count, type Figure, median, percent, quantile } from './figure.ts'
import type { DelivererHandlers } from './processes/deliverer.ts'

/** The requests of a receiver's process. */
interface SinkHandlers {
  [name: string]: (input: never) => unknown
  start(_: null): { port: number }
  count(_: null): { received: number; paths: Record<string, number> }
  waits(_: null): [path: string, ms: number][]
}

interface Pair {
  sink: Child<SinkHandlers>
  deliverer: Child<DelivererHandlers>
}

const WORKSPACES = 20
const WEBHOOKS_EACH = 10
const PER_S = 300
const DEAD_SHARE = 0.1
const WARM_MS = 3_000

/** The effect of dead receivers on others, and of one backlog on another workspace. */
export async function runFairness({ quick }: BenchOptions): Promise<Figure[]> {
  const plan = quick
    ? { rounds: 1, ms: 8_000, deadline_ms: 3_000, rows: 20_000 }
    : { rounds: 3, ms: 20_000, deadline_ms: LIMITS.webhook_deadline_ms, rows: 100_000 }
  const ratios: number[] = []
  const raw: string[] = []
  for (let round = 0; round < plan.rounds; round++) {
    const alive = await waitsWith(0, plan)
    const dead = await waitsWith(DEAD_SHARE, plan)
    ratios.push(dead.p99 / alive.p99)
    raw.push(
      `${count(dead.p99)} against ${count(alive.p99)} ms (median ${count(dead.p50)} against ${count(alive.p50)})`,
    )
  }
  const slowest = await besideBacklog(plan.rows)
  return [
    {
      name: `webhook-fairness, p99 wait without dead receivers over that with ${percent(DEAD_SHARE)} of ${WORKSPACES * WEBHOOKS_EACH} hanging`,
      // A cost has a maximum; a figure with a floor is its inverse.
      value: 1 / median(ratios),
      unit: 'x',
      floor: 1 / 1.5,
      raw: `p99 ${raw.join('; ')}: ${count(median(ratios))} times as much, at most 1.5; ${PER_S} deliveries/s, deadline ${count(plan.deadline_ms / 1000)} s`,
    },
    {
      name: `webhook-fairness, a new delivery beside a backlog of ${count(plan.rows)} of another workspace`,
      value: slowest.max,
      unit: 'ms',
      floor: 1_000,
      raw: `the slowest of ${slowest.of}, median ${count(slowest.p50)} ms; ${count(slowest.drained)}/s of the backlog were delivered meanwhile`,
    },
  ]
}

/** Durable deliveries a second, and as a multiple of those with one commit per attempt. */
export async function runDeliveries({ quick }: BenchOptions): Promise<Figure[]> {
  const { rounds, many, few } = quick
    ? { rounds: 2, many: 20_000, few: 2_000 }
    : { rounds: 5, many: 60_000, few: 6_000 }
  const ours: number[] = []
  const theirs: number[] = []
  const cpus_us: number[] = []
  let raw = ''
  for (let round = 0; round < rounds; round++) {
    await onPair([['/ok'], ['/ok']], async ({ sink, deliverer }) => {
      await deliverer.request('queue', { webhook: 0, count: few })
      const from = performance.now()
      await deliverer.request('oneByOne', few)
      theirs.push((few / (performance.now() - from)) * 1000)
      await deliverer.request('queue', { webhook: 1, count: many })
      const before = [await deliverer.usage(), await sink.usage()] as const
      const began = performance.now()
      await deliverer.request('begin', {})
      // The receiver counts first: counting rows is work of the measured process.
      await until(async () => (await sink.request('count', null)).received >= few + many, {
        every_ms: 20,
      })
      await until(async () => (await deliverer.request('recorded', 1)) >= many, { every_ms: 20 })
      ours.push((many / (performance.now() - began)) * 1000)
      const used = between(before[0], await deliverer.usage())
      cpus_us.push((used.cpu_ms * 1000) / many)
      const receiver = between(before[1], await sink.usage())
      raw = `of one core: deliverer ${percent(used.cpu)} (event loop ${percent(used.loop)} busy), receiver ${percent(receiver.cpu)}`
    })
  }
  const ratios = ours.map((one, i) => one / (theirs[i] as number))
  return [
    {
      name: 'webhook-deliveries, durable, to one local receiver',
      value: median(ours),
      unit: '/s',
      note: `${count(median(cpus_us))} µs of CPU each`,
      raw: `rounds ${ours.map(count).join(', ')}; ${raw}`,
    },
    {
      name: 'webhook-deliveries against one commit per attempt',
      value: median(ratios),
      unit: 'x',
      floor: 4,
      raw: `${count(median(theirs))}/s with one each; ratios ${ratios.map(count).join(', ')}`,
    },
  ]
}

async function waitsWith(
  share: number,
  { ms, deadline_ms }: { ms: number; deadline_ms: number },
): Promise<{ p50: number; p99: number }> {
  const isDead = (i: number) => i % WEBHOOKS_EACH < share * WEBHOOKS_EACH
  const paths = Array.from({ length: WORKSPACES }, () =>
    Array.from({ length: WEBHOOKS_EACH }, (_, i) => (isDead(i) ? '/hang' : '/ok')),
  )
  return onPair(paths, async ({ sink, deliverer }) => {
    await deliverer.request('begin', { deadline_ms })
    await deliverer.request('produce', { per_s: PER_S, ms: WARM_MS })
    await sink.request('waits', null)
    await deliverer.request('produce', { per_s: PER_S, ms })
    await pause(500)
    const waits = (await sink.request('waits', null)).map(([, wait]) => wait)
    return { p50: median(waits), p99: quantile(waits, 0.99) }
  })
}

async function besideBacklog(rows: number) {
  return onPair([['/backlog'], ['/new']], async ({ sink, deliverer }) => {
    await deliverer.request('queue', { webhook: 0, count: rows })
    await deliverer.request('begin', {})
    await pause(1_000)
    await sink.request('waits', null)
    const before = await sink.request('count', null)
    const from = performance.now()
    await deliverer.request('produce', { per_s: 10, ms: 3_000, only: 1 })
    const after = await sink.request('count', null)
    const seconds = (performance.now() - from) / 1000
    await pause(1_000)
    const found = (await sink.request('waits', null)).filter(([path]) => path === '/new')
    const waits = found.map(([, wait]) => wait)
    const drained = ((after.paths['/backlog'] ?? 0) - (before.paths['/backlog'] ?? 0)) / seconds
    return { max: Math.max(...waits), p50: median(waits), of: waits.length, drained }
  })
}

/** A receiver and a process that delivers to it, on a new database. */
async function onPair<T>(paths: string[][], work: (pair: Pair) => Promise<T>): Promise<T> {
  return onStage(async (stage) => {
    const data = join(stage.folder, 'data')
    mkdirSync(data)
    const sink = startChild<SinkHandlers>(stage, 'bench/processes/sink.mjs')
    const deliverer = startChild<DelivererHandlers>(stage, 'bench/processes/deliverer.ts')
    const { port } = await sink.request('start', null)
    const urls = paths.map((each) => each.map((path) => `http://127.0.0.1:${port}${path}`))
    await deliverer.request('open', { folder: data, urls })
    return work({ sink, deliverer })
  })
}
