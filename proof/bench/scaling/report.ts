import { cpus } from 'node:os'
import { markdownOf } from '../../stage/table.ts'
import { count, percent } from '../figure.ts'
import { type AcceptLoad, simulateAccept } from './accept-simulation.ts'
import type { Measurements } from './measure.ts'
import { hotLimit, type Limits, limitsOf, type Measured, type Resource } from './model.ts'
import { STEPS } from './steps.ts'
import { lineThrough, VERBS } from './verbs.ts'
import { agrees, checksOf } from './verification.ts'

const BATCH_MAX = 512
const RESOURCES: Resource[] = [
  'server CPU',
  'database CPU',
  'connections',
  'flushes',
  'WAL volume',
  'vacuum',
]

/** The lines of the whole report. @throws Error when the two models do not agree. */
export function report(measurements: Measurements, measured: Measured): string[] {
  return [
    `Measured on ${cpus().length} × ${cpus()[0]?.model}`,
    ...figuresOf(measurements, measured),
    '',
    ...verbsOf(measurements),
    '',
    ...listsOf(measurements),
    '',
    ...stepsOf(measured),
    '',
    ...hotOf(measured),
    '',
    ...neighboursOf(measured),
    '',
    ...verified(measured),
  ]
}

function figuresOf({ path, vacuum, each, sizes, partitions }: Measurements, measured: Measured) {
  const per = (ms: number) => `${count(ms * 1000)} µs`
  return [
    `whole path, ${count(path.messages)} messages at ${count(path.per_s)}/s: server ${per(path.server_cpu_ms)} of CPU each (main thread ${percent(path.server_loop)} busy), PostgreSQL ${per(path.db_cpu_ms)}`,
    `stored for each message: ${count(each.table_bytes)} bytes of rows, ${count(each.index_bytes)} of indexes; WAL ${count(each.wal_bytes)} bytes; ${count(each.transactions * sizes.large)} transaction ids for a batch of ${sizes.large}`,
    `vacuum at its default pace: ${per(vacuum.paced_ms)} a message; ${percent(vacuum.hot_share)} of the updates of messages changed no index`,
    `one commit: ${count(measured.flush_ms)} ms; the hot account is locked for ${count(measured.hot.fixed_ms)} ms + ${per(measured.hot.per_item_ms)} a send, ${per(measured.bulk_message_ms)} a message of a bulk`,
    `database CPU of 64 messages with ${partitions.map((cost) => `${cost.partitions} partitions: ${count(cost.cpu_ms)} ms`).join(', ')}`,
  ]
}

function verbsOf({ small, large, sizes }: Measurements): string[] {
  const rows = VERBS.map((verb) => {
    const line = lineThrough([sizes.small, small[verb].cpu_ms], [sizes.large, large[verb].cpu_ms])
    return [
      verb,
      count(line.fixed_ms),
      count(line.per_item_ms * 1000),
      count(small[verb].wall_ms),
      count(large[verb].wall_ms),
    ]
  })
  const head = [
    'verb',
    'CPU ms a batch',
    '+ µs a message',
    `ms for ${sizes.small}`,
    `ms for ${sizes.large}`,
  ]
  return tableOf(head, rows)
}

function listsOf({ lists }: Measurements): string[] {
  const head = [
    'messages of one workspace',
    'page ms',
    'deep page ms',
    'total ms',
    'search ms',
    'CPU ms of page and total',
    'index MB',
  ]
  return tableOf(
    head,
    lists.map((cost) => [
      count(cost.rows),
      count(cost.page_ms),
      count(cost.deep_page_ms),
      count(cost.count_ms),
      count(cost.search_ms),
      count(cost.cpu_ms),
      count(cost.index_bytes / 1e6),
    ]),
  )
}

function stepsOf(measured: Measured): string[] {
  const limits = STEPS.map((step) => limitsOf(step, measured))
  const base = leastOf(limits[0] as Limits)
  const rows = STEPS.map((step, i) => {
    const of = limits[i] as Limits
    return [
      step.name,
      ...RESOURCES.map((resource) => count(of.per_s[resource])),
      `${count(leastOf(of))}/s`,
      `${count(leastOf(of) / base)}x`,
      of.first,
      count(hotLimit(measured, step.flush_ms, BATCH_MAX)),
      `${count(of.on_disk / 1e6)} M`,
      `${count(of.in_ram / 1e6)} M`,
    ]
  })
  const head = [
    'step',
    ...RESOURCES,
    'carries',
    'against one',
    'first',
    'one workspace',
    'on disk',
    'indexes in RAM',
  ]
  return tableOf(head, rows)
}

function leastOf({ per_s, first }: Limits): number {
  return per_s[first]
}

function hotOf(measured: Measured): string[] {
  const flushes = [0.1, 0.5, 1, 2, 5, 10]
  const batches = [1, 32, 128, BATCH_MAX]
  return tableOf(
    ['one workspace, sends/s; flush ms', ...flushes.map(String)],
    batches.map((batch) => [
      `batches of ${batch}`,
      ...flushes.map((flush_ms) => count(hotLimit(measured, flush_ms, batch))),
    ]),
  )
}

function neighboursOf(measured: Measured): string[] {
  const flush_ms = 1
  const limit = hotLimit(measured, flush_ms, BATCH_MAX)
  const rows = [1, 4].flatMap((servers) =>
    [0.1, 0.5, 0.9, 1.1].map((share) => {
      const load: AcceptLoad = {
        ...costOf(measured, flush_ms),
        seed: 1,
        servers,
        slots: 2,
        batch_max: BATCH_MAX,
        db_cores: 4,
        rate_per_ms: ((share + 0.1) * limit) / 1000,
        hot_share: share / (share + 0.1),
        requests: 100_000,
      }
      const { mean_batch, hot, others } = simulateAccept(load)
      return [
        `${servers}`,
        percent(share),
        count(mean_batch),
        count(hot.p50_ms),
        count(hot.p99_ms),
        count(others.p50_ms),
        count(others.p99_ms),
      ]
    }),
  )
  const head = [
    'servers',
    'load of its limit',
    'mean batch',
    'hot p50 ms',
    'hot p99 ms',
    'others p50 ms',
    'others p99 ms',
  ]
  return tableOf(head, rows)
}

function costOf({ hot, flush_ms: own }: Measured, flush_ms: number) {
  return {
    fixed_ms: Math.max(0, hot.fixed_ms - own),
    per_request_ms: hot.per_item_ms,
    flush_ms,
  }
}

function verified(measured: Measured): string[] {
  const checks = checksOf(costOf(measured, 1))
  const wrong = checks.filter((check) => !agrees(check))
  if (wrong.length > 0) {
    throw new Error(`the two models differ: ${JSON.stringify(wrong)}`)
  }
  const rows = checks.map(({ name, analytic, simulated }) => [
    name,
    count(analytic),
    count(simulated),
  ])
  return tableOf(['the two models agree', 'calculated', 'simulated'], rows)
}

function tableOf(head: readonly string[], rows: readonly string[][]): string[] {
  return markdownOf([head, ...rows], { areNumbers: true })
}
