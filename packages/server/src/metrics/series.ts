import type { Metric, Registry } from 'prom-client'

/** The metrics of a process as data, so that those of several processes can be added. */
export type CollectedMetrics = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

/** The name of a metric and its labels. */
interface Named<Label extends string> {
  name: string
  help: string
  labels?: readonly Label[]
}

/** One number of a metric. */
export interface Sample {
  /** The name, if it differs from the name of the metric. */
  metricName?: string
  labels: Record<string, string | number>
  value: number
}

/** A number that only increases. */
interface Count {
  value: number
}

/** A distribution of durations or other values. */
interface Durations {
  /** Adds a value, in seconds or in the histogram's unit. */
  observe(value: number): void
}

/** The maximum number of label combinations. Further combinations count together as `other`. */
const SERIES_MAX = 2_000

const OTHER = 'other'

/** Adds a metric to the registry. Each scrape calls `samples`. */
export function register(
  registry: Registry,
  {
    name,
    help,
    type,
    aggregator = 'sum',
  }: {
    name: string
    help: string
    type: 'counter' | 'gauge' | 'histogram'
    /** How several processes of one service make one value. */
    aggregator?: 'sum' | 'min' | 'max' | 'first'
  },
  samples: () => Sample[],
): void {
  const get = async () => ({ name, help, type, aggregator, values: samples() })
  // A registry reads only these properties of a metric.
  registry.registerMetric({ name, help, get } as unknown as Metric)
}

/**
 * A counter that costs one addition. The library's counter takes at least 0.5 µs, several times for each message.
 * @param known label combinations that exist from the start, at 0
 */
export function counter<Label extends string>(
  registry: Registry,
  named: Named<Label>,
  known: readonly (readonly string[])[] = [],
): (...labels: string[]) => Count {
  const series = seriesOf(named, known, (): Count => ({ value: 0 }))
  register(registry, { ...named, type: 'counter' }, () =>
    series.all().map(({ labels, one: { value } }) => ({ labels, value })),
  )
  return series.of
}

/** A histogram that costs a few comparisons. `buckets` are upper bounds in ascending order. */
export function histogram<Label extends string>(
  registry: Registry,
  { buckets, ...named }: Named<Label> & { buckets: readonly number[] },
  known: readonly (readonly string[])[] = [],
): (...labels: string[]) => Durations {
  const series = seriesOf(named, known, () => bucketsOf(buckets))
  register(registry, { ...named, type: 'histogram' }, () =>
    series.all().flatMap(({ labels, one }) => one.samples(named.name, labels)),
  )
  return series.of
}

function bucketsOf(bounds: readonly number[]) {
  const counts = new Float64Array(bounds.length + 1)
  let sum = 0
  return {
    observe(value: number): void {
      let bucket = 0
      while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket += 1
      counts[bucket] = (counts[bucket] as number) + 1
      sum += value
    },
    samples(name: string, labels: Sample['labels']): Sample[] {
      let count = 0
      const cumulative = Array.from(counts, (inBucket, i): Sample => {
        count += inBucket
        const le = bounds[i] ?? '+Inf'
        return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: count }
      })
      return [
        ...cumulative,
        { metricName: `${name}_sum`, labels, value: sum },
        { metricName: `${name}_count`, labels, value: count },
      ]
    },
  }
}

function seriesOf<One>(
  { labels: names = [] }: { labels?: readonly string[] },
  known: readonly (readonly string[])[],
  make: () => One,
) {
  const all = new Map<string, { labels: Record<string, string>; one: One }>()

  function add(key: string, values: readonly string[]) {
    const labels = Object.fromEntries(names.map((name, i) => [name, values[i] ?? '']))
    const added = { labels, one: make() }
    all.set(key, added)
    return added
  }

  function of(...values: string[]): One {
    // No label contains a line break, so the joined labels are unique.
    const key = values.length === 1 ? (values[0] as string) : values.join('\n')
    const found = all.get(key)
    if (found) return found.one
    if (all.size < SERIES_MAX) return add(key, values).one
    const others = names.map(() => OTHER)
    return (all.get(others.join('\n')) ?? add(others.join('\n'), others)).one
  }

  for (const values of known.length === 0 && names.length === 0 ? [[]] : known) of(...values)
  return { of, all: () => [...all.values()] }
}
