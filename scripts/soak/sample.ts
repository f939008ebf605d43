import { readdirSync, readFileSync, statSync } from 'node:fs'
import { get } from 'node:http'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import type { Service } from '../service/serve.ts'
import type { Durations, Histogram } from './histogram.ts'

/** What was measured of a service at one moment, and the durations of requests since the moment before. */
export interface Sample {
  /** Seconds since the beginning. */
  at_s: number
  rss_mib: number
  heap_mib: number
  descriptors: number
  threads: number
  /** Both 0 where the database is PostgreSQL. */
  wal_mib: number
  database_mib: number
  /** Of all threads, since the process began. */
  cpu_s: number
  /** Of the event loop, since the sample before. */
  lag_p99_ms: number
  waiting: number
  /** How late the longest-waiting message or delivery is. */
  oldest_due_s: number
  /** Of the machine, in the last minute. */
  load: number
  sends: Durations
  all: Durations
}

const MIB = 1024 * 1024
/** What `/proc` counts processor time in, on every Linux. */
const TICKS_PER_S = 100

export async function takeSample(
  service: Pick<Service, 'pid' | 'metrics_url'>,
  { at_s, folder, sends, all }: { at_s: number; folder: string; sends: Histogram; all: Histogram },
): Promise<Sample> {
  const text = await textAt(`${service.metrics_url}/metrics`)
  const metric = (name: string) => numbersOf(text, name)
  const { rss_mib, threads, cpu_s } = processFigures(service.pid)
  return {
    at_s,
    rss_mib,
    heap_mib: sum(metric('nodejs_heap_size_used_bytes')) / MIB,
    descriptors: readdirSync(`/proc/${service.pid}/fd`).length,
    threads,
    wal_mib: sizeOf(join(folder, 'svc.db-wal')) / MIB,
    database_mib: sizeOf(join(folder, 'svc.db')) / MIB,
    cpu_s,
    lag_p99_ms: sum(metric('nodejs_eventloop_lag_p99_seconds')) * 1_000,
    waiting: sum(metric('svc_queue_waiting')),
    oldest_due_s: Math.max(0, ...metric('svc_queue_oldest_due_seconds')),
    load: loadavg()[0] ?? 0,
    sends: sends.take(),
    all: all.take(),
  }
}

/** On a connection of its own: one that is kept would be closed by the server at about the time of the next sample. */
function textAt(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent: false }, (response) => {
      const parts: string[] = []
      response.setEncoding('utf8').on('data', (text: string) => parts.push(text))
      response.on('end', () => resolve(parts.join('')))
      response.on('error', reject)
    })
    request.on('error', reject)
  })
}

/** The values of every series of a metric. */
function numbersOf(text: string, name: string): number[] {
  const lines = text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))
  return [...lines].map(([, value]) => Number(value))
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}

function processFigures(pid: number): Pick<Sample, 'rss_mib' | 'threads' | 'cpu_s'> {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const of = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1])
  // The name of the program, which may have spaces, is in brackets. Source: proc_pid_stat(5).
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
  return {
    rss_mib: of('VmRSS') / 1024,
    threads: of('Threads'),
    cpu_s: (Number(stat[11]) + Number(stat[12])) / TICKS_PER_S,
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}
