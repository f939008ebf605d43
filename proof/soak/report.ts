import { percentile } from './histogram.ts'
import type { SoakResult } from './run.ts'
import type { Sample } from './sample.ts'

/** The result on one page, and whether every limit and every rule held. */
export function reportOf(result: SoakResult): { text: string; isSound: boolean } {
  const { seconds, samples, violations, requests, operations, answers, stored, log, ledger } =
    result
  const findings = judge(samples)
  const broken = violations.broken()
  const number = (value: number) => value.toLocaleString('en-US')
  const warnings = log.levels.get(40) ?? 0
  const isSound = broken.length === 0 && findings.every(({ ok }) => ok !== false)
  const text = [
    `${(seconds / 60).toFixed(1)} minutes, ${number(requests)} requests (${(requests / seconds).toFixed(1)}/s)`,
    ...[...operations].map(([name, times]) => `  ${number(times).padStart(9)} × ${name}`),
    `messages   ${number(answers.accepted)} accepted, ${number(answers.unsure)} without an answer, ${number(stored.messages)} stored`,
    `webhooks   ${number(stored.events)} events, ${number(answers.received)} deliveries, ${number(stored.repeated)} events more than once`,
    `log        ${number(log.lines)} lines, ${number(warnings)} warnings`,
    `ledger     ${ledger.split('\n').join('\n           ')}`,
    '',
    tableOf(samples),
    '',
    ...findings.map(({ text: finding, ok }) => `${ok === null ? '–' : ok ? '✓' : '✗'} ${finding}`),
    ...broken.flatMap(({ rule, times, examples }) => [
      `✗ ${rule}: broken ${number(times)} times`,
      ...examples.map((example) => `    ${example}`),
    ]),
    `${violations.rules()} rules, ${broken.length} broken`,
    isSound ? 'PASSED' : 'FAILED',
  ].join('\n')
  return { text, isSound }
}

/** One limit, and whether the run kept it; null if the run was too short to judge. */
interface Finding {
  text: string
  ok: boolean | null
}

/** Memory and descriptors are judged in runs of at least this length; shorter ones are mostly start. */
const TREND_MIN_S = 20 * 60

/** The service checkpoints its log at 32 MiB, and truncates it to 64 MiB after a long reader. */
const WAL_MAX_MIB = 64
const DESCRIPTORS_MAX_MORE = 8
const THREADS_MAX_MORE = 2
/** Per hour, of the minimum of each minute: the memory that remains after garbage collection. */
const RSS_SLOPE_MAX_MIB = 24
const HEAP_SLOPE_MAX_MIB = 8
const P99_MAX_TIMES = 3
/** Shorter times are noise of the machine. */
const P99_FLOOR_MS = 50

/** Compares samples with the limits. The first quarter is warm-up for memory, because caches fill. */
export function judge(samples: readonly Sample[]): Finding[] {
  const { first, last, warm } = parts(samples)
  const isLong = lengthOf(samples) >= TREND_MIN_S
  const median = (part: readonly Sample[], name: 'descriptors' | 'threads') =>
    middle(part.map((sample) => sample[name]))
  const grown = (name: 'descriptors' | 'threads') => median(last, name) - median(first, name)
  const slope = (name: 'rss_mib' | 'heap_mib') => slopePerHour(lowestByMinute(warm, name))
  const wal = Math.max(...samples.map(({ wal_mib }) => wal_mib))
  const p99 = { first: p99Of(first), last: p99Of(last) }
  const p99Max = Math.max(P99_FLOOR_MS, P99_MAX_TIMES * p99.first)

  return [
    finding(`WAL at most ${wal.toFixed(1)} MiB`, wal, WAL_MAX_MIB, 'MiB'),
    trend('descriptors, last quarter − first', grown('descriptors'), DESCRIPTORS_MAX_MORE, ''),
    trend('threads, last quarter − first', grown('threads'), THREADS_MAX_MORE, ''),
    trend('RSS after the first quarter', slope('rss_mib'), RSS_SLOPE_MAX_MIB, 'MiB/h'),
    trend('heap after the first quarter', slope('heap_mib'), HEAP_SLOPE_MAX_MIB, 'MiB/h'),
    trend('p99 of sends in the last quarter', p99.last, p99Max, 'ms'),
  ]

  function finding(text: string, value: number, max: number, unit: string): Finding {
    return { text: `${text}; bound ${max.toFixed(0)} ${unit}`.trimEnd(), ok: value <= max }
  }

  function trend(text: string, value: number, max: number, unit: string): Finding {
    const label = `${text}: ${value.toFixed(1)} ${unit}`.trimEnd()
    if (isLong) return finding(label, value, max, unit)
    return { text: `${label}; not judged in less than ${TREND_MIN_S / 60} minutes`, ok: null }
  }
}

/** A table of the first and the last quarter, and the growth of each figure in an hour. */
function tableOf(samples: readonly Sample[]): string {
  const { first, last } = parts(samples)
  const mean = (part: readonly Sample[], of: (sample: Sample) => number) =>
    part.reduce((sum, sample) => sum + of(sample), 0) / part.length
  const rows: [name: string, of: (sample: Sample) => number][] = [
    ['RSS, MiB', ({ rss_mib }) => rss_mib],
    ['heap, MiB', ({ heap_mib }) => heap_mib],
    ['descriptors', ({ descriptors }) => descriptors],
    ['threads', ({ threads }) => threads],
    ['WAL, MiB', ({ wal_mib }) => wal_mib],
    ['database, MiB', ({ database_mib }) => database_mib],
    ['waiting in queues', ({ waiting }) => waiting],
    ['oldest due, s', ({ oldest_due_s }) => oldest_due_s],
    ['event loop lag p99, ms', ({ lag_p99_ms }) => lag_p99_ms],
    ['load of the machine', ({ load }) => load],
  ]
  const line = (name: string, ...cells: string[]) =>
    [name.padEnd(26), ...cells.map((cell) => cell.padStart(14))].join('')
  const times = (part: readonly Sample[], share: number) =>
    percentile(
      part.map(({ sends }) => sends),
      share,
    ).toFixed(1)
  return [
    line('', 'first quarter', 'last quarter', 'per hour'),
    ...rows.map(([name, of]) => {
      const slope = slopePerHour(samples.map((sample) => [sample.at_s, of(sample)]))
      return line(
        name,
        mean(first, of).toFixed(1),
        mean(last, of).toFixed(1),
        `${slope < 0 ? '' : '+'}${slope.toFixed(1)}`,
      )
    }),
    line('processor, % of a core', cpuOf(first), cpuOf(last)),
    line('sends p50, ms', times(first, 0.5), times(last, 0.5)),
    line('sends p99, ms', times(first, 0.99), times(last, 0.99)),
  ].join('\n')
}

function p99Of(part: readonly Sample[]): number {
  const value = percentile(
    part.map(({ sends }) => sends),
    0.99,
  )
  return Number.isNaN(value) ? 0 : value
}

function cpuOf(part: readonly Sample[]): string {
  const [from, to] = [part[0], part.at(-1)]
  if (!from || !to || from === to) return '-'
  return ((100 * (to.cpu_s - from.cpu_s)) / (to.at_s - from.at_s)).toFixed(1)
}

function parts(samples: readonly Sample[]) {
  const quarter = Math.max(1, Math.floor(samples.length / 4))
  return {
    first: samples.slice(0, quarter),
    last: samples.slice(-quarter),
    warm: samples.slice(quarter),
  }
}

function lengthOf(samples: readonly Sample[]): number {
  return (samples.at(-1)?.at_s ?? 0) - (samples[0]?.at_s ?? 0)
}

type Point = [at_s: number, value: number]

function lowestByMinute(samples: readonly Sample[], name: 'rss_mib' | 'heap_mib'): Point[] {
  const lowest = new Map<number, Point>()
  for (const { at_s, [name]: value } of samples) {
    const minute = Math.floor(at_s / 60)
    const before = lowest.get(minute)
    if (!before || value < before[1]) lowest.set(minute, [at_s, value])
  }
  return [...lowest.values()]
}

/** The slope of the least-squares line. */
function slopePerHour(points: readonly Point[]): number {
  const mean = (of: (point: Point) => number) =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length
  const [at, value] = [mean(([at_s]) => at_s), mean(([, each]) => each)]
  const spread = mean(([at_s]) => (at_s - at) ** 2)
  return spread === 0 ? 0 : (3_600 * mean(([at_s, each]) => (at_s - at) * (each - value))) / spread
}

function middle(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0
}
