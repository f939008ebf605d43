import { cpus } from 'node:os'
import { between, type Child, type Handlers, startChild, type Usage } from '../stage/child.ts'
import type { Stage } from '../stage/stage.ts'
import { count, type Figure, median, medianOf, percent, rangeOf } from './figure.ts'
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

interface Service {
  url: string
  key: string
  child: Pick<Child<Handlers>, 'usage'>
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

/** One or more servers as a side; by default no work remains after a round. */
export function sideOf(
  [first, ...others]: readonly [Service, ...Service[]],
  settle: Side['settle'] = async () => {},
): Side {
  const servers = [first, ...others]
  return {
    urls: servers.map(({ url }) => url),
    key: first.key,
    usages: () => Promise.all(servers.map(({ child }) => child.usage())),
    settle,
  }
}

/** A bare framework route: the same bodies, the same answers. */
export async function startBareRoute(stage: Stage): Promise<Side> {
  const child = startChild<{ start(_: null): { url: string } }>(
    stage,
    'bench/processes/bare-route.mjs',
  )
  return sideOf([{ ...(await child.request('start', null)), key: '-', child }])
}

/**
 * Measures the sides in turns, so that other work on the machine affects all of them; the first round of each warms up and
 * does not count, except when they are warm.
 */
export async function inTurns<Name extends string, Result>(
  sides: Record<Name, () => Promise<Result>>,
  rounds: number,
  { areWarm = false } = {},
): Promise<Record<Name, Result[]>> {
  const names = Object.keys(sides) as Name[]
  const measured = Object.fromEntries(names.map((name) => [name, [] as Result[]]))
  for (let round = areWarm ? 1 : 0; round <= rounds; round++) {
    for (const name of names) {
      const result = await sides[name]()
      if (round > 0) measured[name]?.push(result)
    }
  }
  return measured as Record<Name, Result[]>
}

/** The requests after which the engine has compiled the code of a side. On a busy machine, one round has fewer. */
const WARM_REQUESTS = 5_000
const WARM_ROUNDS_MAX = 10

/** Loads the sides in turns, `rounds` times each, after rounds that warm up. */
export async function loadInTurns<Name extends string>(
  load: Child<LoadHandlers>,
  sides: Record<Name, Side>,
  { rounds, ms }: Plan,
): Promise<Record<Name, Round[]>> {
  const one = async (side: Side) => {
    const round = await measure(load, side, ms)
    await side.settle()
    return round
  }
  for (const side of Object.values<Side>(sides)) {
    await warmUp(async () => ((await one(side)).per_s * ms) / 1_000)
  }
  const names = Object.keys(sides) as Name[]
  const turns = Object.fromEntries(names.map((name) => [name, () => one(sides[name])]))
  return inTurns(turns as Record<Name, () => Promise<Round>>, rounds, { areWarm: true })
}

/** Repeats a round until it has sent `WARM_REQUESTS`, with a bound. `round` returns the number of its requests. */
export async function warmUp(round: () => Promise<number>): Promise<void> {
  let sent = 0
  for (let i = 0; i < WARM_ROUNDS_MAX && sent < WARM_REQUESTS; i++) sent += await round()
}

/** What the rounds of one side have in every comparison of rates. */
type Rates = readonly Pick<Round, 'per_s' | 'cpu_us'>[]

/** The rates of mails and the CPU of both sides, in words. */
export function ratesOf(ours: Rates, theirs: Rates, connections: number): string {
  const [one, other] = [ours, theirs].map((side) => ({
    per_s: `${count(medianOf(side, 'per_s'))}/s`,
    cpu: count(medianOf(side, 'cpu_us')),
  })) as [{ per_s: string; cpu: string }, { per_s: string; cpu: string }]
  return `${one.per_s} against ${other.per_s} over ${connections} connections, ${one.cpu} against ${other.cpu} µs of CPU a mail`
}

/** The rate of ours over that of theirs, and the same by CPU: medians of the rounds. */
export function against(
  ours: Rates,
  theirs: Rates,
): Pick<Figure, 'value' | 'unit'> & { note: string; ratios: number[] } {
  const ratios = ours.map(({ per_s }, i) => per_s / (theirs[i]?.per_s ?? Number.NaN))
  const cpu = medianOf(theirs, 'cpu_us') / medianOf(ours, 'cpu_us')
  return { value: median(ratios), unit: 'x', note: `by CPU ${count(cpu)}x`, ratios }
}

/** The ratio of the two sides: the median of the rounds, and its spread. */
export function compare(
  [name, ours]: [string, readonly Round[]],
  [otherName, theirs]: [string, readonly Round[]],
): Pick<Figure, 'value' | 'unit'> & { note: string; raw: string } {
  const { ratios, ...figure } = against(ours, theirs)
  const sides = `${resultOf(name, ours)}; ${resultOf(otherName, theirs)}`
  return { ...figure, raw: `${sides}; ${ratios.length} rounds, ratios ${rangeOf(ratios)}` }
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

function resultOf(name: string, rounds: readonly Round[]): string {
  const of = (field: keyof Round) => medianOf(rounds, field)
  const cpu = `${count(of('cpu_us'))} µs of CPU each (generator ${count(of('load_cpu_us'))})`
  const loops = `event loop ${percent(of('loop'))} busy (generator ${percent(of('load_loop'))}, machine ${percent(of('machine'))})`
  return `${name} ${count(of('per_s'))}/s, p99 ${count(of('p99_ms'))} ms, ${cpu}, ${loops}`
}
