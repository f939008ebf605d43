import { statSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { ask } from '../stage/ask.ts'
import { descriptorsOf, type Figures, figuresOf } from '../stage/figures.ts'
import type { Service } from '../stage/serve.ts'
import type { Durations, Histogram } from './histogram.ts'

/** Figures of a service at one moment, and the durations of requests since the sample before. */
export interface Sample extends Figures {
  /** Seconds since the start. */
  at_s: number
  heap_mib: number
  descriptors: number
  /** Both 0 with PostgreSQL. */
  wal_mib: number
  database_mib: number
  /** Delay of the event loop, since the sample before. */
  lag_p99_ms: number
  waiting: number
  /** Lateness of the oldest due message or delivery. */
  oldest_due_s: number
  /** Load of the machine, in the last minute. */
  load: number
  sends: Durations
  all: Durations
}

const MIB = 1024 * 1024

export async function takeSample(
  service: Pick<Service, 'pid' | 'metrics_url'>,
  { at_s, folder, sends, all }: { at_s: number; folder: string; sends: Histogram; all: Histogram },
): Promise<Sample> {
  const reply = await ask(`${service.metrics_url}/metrics`)
  if (reply.status !== 200) throw new Error(`/metrics: ${reply.status} ${reply.text}`)
  const metric = (name: string) => numbersOf(reply.text, name)
  return {
    at_s,
    ...figuresOf(service.pid),
    heap_mib: sum(metric('nodejs_heap_size_used_bytes')) / MIB,
    descriptors: descriptorsOf(service.pid),
    wal_mib: sizeOf(join(folder, 'svc.db-wal')) / MIB,
    database_mib: sizeOf(join(folder, 'svc.db')) / MIB,
    lag_p99_ms: sum(metric('nodejs_eventloop_lag_p99_seconds')) * 1_000,
    waiting: sum(metric('svc_queue_waiting')),
    oldest_due_s: Math.max(0, ...metric('svc_queue_oldest_due_seconds')),
    load: loadavg()[0] ?? 0,
    sends: sends.take(),
    all: all.take(),
  }
}

/** The values of all series of a metric. */
function numbersOf(text: string, name: string): number[] {
  const lines = text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))
  return [...lines].map(([, value]) => Number(value))
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}
