import { cpus } from 'node:os'
import { between, type Child, startChild, type Usage } from '../stage/child.ts'
import { count, median, percent } from './figure.ts'
import type { Load, LoadHandlers } from './processes/load.ts'

const CONNECTIONS = 64

/** One side of a comparison: a server of sends, in one or more processes. */
export interface Side {
  urls: string[]
  key: string
  /** The account of a server that gets sends in Twilio's form. */
  account_sid?: string
  usages(): Promise<Usage[]>
  /** Resolves when the remaining work of a round is finished. */
  settle(): Promise<void>
}

/** The result of one round of load on one side. */
export interface Round {
  per_s: number
  p99_ms: number
  /** Microseconds of CPU for each request, of all threads and processes. */
  cpu_us: number
  /** The busiest event loop. */
  loop: number
  load_cpu_us: number
  load_loop: number
  /** Usage of the machine's processors, by all processes. */
  machine: number
}

export interface Plan {
  rounds: number
  ms: number
}

/** Rounds for a figure to quote, or to try a change. */
export function planOf(quick: boolean): Plan {
  return quick ? { rounds: 3, ms: 1_500 } : { rounds: 7, ms: 4_000 }
}

/** A bare framework route: the same bodies, the same answers. */
export async function startBareRoute(
  folder: string,
): Promise<{ side: Side; end(): Promise<void> }> {
  const child = startChild<{ start(_: null): { url: string } }>('bare-route.mjs', { folder })
  const { url } = await child.request('start', null)
  const usages = async () => [await child.usage()]
  return { side: { urls: [url], key: '-', usages, settle: async () => {} }, end: child.end }
}

/** The requests after which the engine has compiled the code of a side. On a busy machine, one round has fewer. */
const WARM_REQUESTS = 5_000
const WARM_ROUNDS_MAX = 10

/** Loads the sides in turns, `rounds` times each, after rounds that warm up. */
export async function inTurns<Name extends string>(
  load: Child<LoadHandlers>,
  sides: Record<Name, Side>,
  { rounds, ms }: Plan,
): Promise<Record<Name, Round[]>> {
  const names = Object.keys(sides) as Name[]
  const measured = Object.fromEntries(names.map((name) => [name, [] as Round[]]))
  for (const name of names) {
    await warmUp(async () => {
      const { per_s } = await measure(load, sides[name], ms)
      await sides[name].settle()
      return (per_s * ms) / 1_000
    })
  }
  for (let round = 0; round < rounds; round++) {
    for (const name of names) {
      measured[name]?.push(await measure(load, sides[name], ms))
      await sides[name].settle()
    }
  }
  return measured as Record<Name, Round[]>
}

/** Repeats a round until it has sent `WARM_REQUESTS`, with a bound. `round` returns the number of its requests. */
export async function warmUp(round: () => Promise<number>): Promise<void> {
  let sent = 0
  for (let i = 0; i < WARM_ROUNDS_MAX && sent < WARM_REQUESTS; i++) sent += await round()
}

/** The ratio of the two sides: the median of the rounds, and its spread. */
export function compare(
  [name, ours]: [string, readonly Round[]],
  [otherName, theirs]: [string, readonly Round[]],
): { value: number; note: string; raw: string } {
  const ratios = ours.map(({ per_s }, i) => per_s / (theirs[i] as Round).per_s)
  const cpu = median(theirs.map(({ cpu_us }) => cpu_us)) / median(ours.map(({ cpu_us }) => cpu_us))
  const range = [Math.min(...ratios), Math.max(...ratios)].map(count).join('–')
  const raw = [
    `${sideOf(name, ours)}; ${sideOf(otherName, theirs)}`,
    `${ratios.length} rounds, ratios ${range}`,
  ].join('; ')
  return { value: median(ratios), note: `by CPU ${count(cpu)}x`, raw }
}

async function measure(
  load: Child<LoadHandlers>,
  { urls, key, account_sid, usages }: Side,
  ms: number,
): Promise<Round> {
  const request: Load = {
    urls,
    key,
    ...(account_sid !== undefined && { account_sid }),
    connections: CONNECTIONS,
    ms,
  }
  const machineFrom = processors()
  const [sideFrom, loadFrom] = await Promise.all([usages(), load.usage()])
  const { sent, seconds, p99_ms } = await load.request('run', request)
  const [sideTo, loadTo] = await Promise.all([usages(), load.usage()])
  const machineTo = processors()
  const used = sideFrom.map((from, i) => between(from, sideTo[i] as Usage))
  const loadUsed = between(loadFrom, loadTo)
  const idle = (machineTo.idle - machineFrom.idle) / (machineTo.all - machineFrom.all)
  return {
    per_s: sent / seconds,
    p99_ms,
    cpu_us: (used.reduce((sum, { cpu_ms }) => sum + cpu_ms, 0) * 1000) / sent,
    loop: Math.max(...used.map(({ loop }) => loop)),
    load_cpu_us: (loadUsed.cpu_ms * 1000) / sent,
    load_loop: loadUsed.loop,
    machine: 1 - idle,
  }
}

function processors(): { idle: number; all: number } {
  const times = cpus().flatMap(({ times }) => [times])
  const idle = times.reduce((sum, time) => sum + time.idle, 0)
  return { idle, all: times.flatMap((time) => Object.values(time)).reduce((a, b) => a + b, 0) }
}

function sideOf(name: string, rounds: readonly Round[]): string {
  const of = (field: keyof Round) => median(rounds.map((round) => round[field]))
  const cpu = `${count(of('cpu_us'))} µs of CPU each (generator ${count(of('load_cpu_us'))})`
  const loops = `event loop ${percent(of('loop'))} busy (generator ${percent(of('load_loop'))}, machine ${percent(of('machine'))})`
  return `${name} ${count(of('per_s'))}/s, p99 ${count(of('p99_ms'))} ms, ${cpu}, ${loops}`
}
