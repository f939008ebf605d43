import { AggregatorRegistry } from 'prom-client'
import type { CollectedMetrics } from './series.ts'

/** The type of the text that `summed` makes. */
export const METRICS_TYPE: string = new AggregatorRegistry().contentType

/** The metrics of several processes in Prometheus' text format, each added as its `aggregator` says. */
export function summed(all: readonly object[]): Promise<string> {
  return AggregatorRegistry.aggregate([...all]).metrics()
}

/** The sums of the counters and histograms: what a process only had while it ran is left out. */
export async function countersOf(all: readonly CollectedMetrics[]): Promise<CollectedMetrics> {
  const sums = await AggregatorRegistry.aggregate([...all]).getMetricsAsJSON()
  // The library's declarations say that the type is a number; it is the text of `# TYPE`.
  return sums.filter(({ type }) => ['counter', 'histogram'].includes(String(type)))
}
