import { between, type Child, type Handlers, startChild, type Usage } from './child.ts'
import { type BenchOptions, count, type Figure, median, percent } from './figure.ts'
import type { Load, LoadHandlers } from './processes/load.ts'
import { inFolder, startService } from './service.ts'

const CONNECTIONS = 64
const FLOOR = 0.5

/** What the process that serves the bare route is asked. */
interface BareHandlers extends Handlers {
  start(_: null): { url: string }
}

/** One side of a comparison: somebody who answers. */
interface Side {
  url: string
  key: string
  usage(): Promise<Usage>
  /** Resolves when what a round left behind is done. */
  settle(): Promise<void>
}

/** What one round of load on one side gave. */
interface Round {
  per_s: number
  p99_ms: number
  /** Microseconds of CPU for each request, of all threads. */
  cpu_us: number
  loop: number
  load_cpu_us: number
  load_loop: number
}

/**
 * Durably accepted sends a second, as a share of what the framework can do with a route that does nothing: the same
 * bodies, the same answers, the same 64 connections, in turns.
 */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  return inFolder(async (folder) => {
    const load = startChild<LoadHandlers>('load.ts', { folder })
    const bareRoute = startChild<BareHandlers>('bare-route.mjs', { folder })
    const accepting = await startService(folder, 'accepting', { dispatch: false })
    const dispatching = await startService(folder, 'dispatching', { dispatch: true })
    try {
      const { url } = await bareRoute.ask('start', null)
      const bare: Side = { url, key: '-', usage: bareRoute.usage, settle: async () => {} }
      const sides: [name: string, side: Side][] = [
        ['accept', { ...accepting, usage: accepting.child.usage, settle: async () => {} }],
        [
          'accept, dispatching',
          {
            ...dispatching,
            usage: dispatching.child.usage,
            settle: () => dispatching.child.ask('idle', null),
          },
        ],
      ]
      const plan = quick ? { rounds: 3, ms: 1_500 } : { rounds: 7, ms: 4_000 }
      const figures: Figure[] = []
      for (const [name, side] of sides) {
        const figure = await compare(load, name, side, bare, plan)
        // The goal is for accepting; how much sending leaves of it is for information.
        figures.push(name === 'accept' ? { ...figure, floor: FLOOR } : figure)
      }
      return figures
    } finally {
      const children = [load, bareRoute, accepting.child, dispatching.child]
      await Promise.all(children.map((child) => child.end()))
    }
  })
}

async function compare(
  load: Child<LoadHandlers>,
  name: string,
  side: Side,
  bare: Side,
  { rounds, ms }: { rounds: number; ms: number },
): Promise<Figure> {
  const ours: Round[] = []
  const theirs: Round[] = []
  // The first round of each only warms up.
  for (let round = 0; round <= rounds; round++) {
    const one = await measure(load, side, ms)
    await side.settle()
    const other = await measure(load, bare, ms)
    if (round === 0) continue
    ours.push(one)
    theirs.push(other)
  }
  const ratios = ours.map(({ per_s }, i) => per_s / (theirs[i] as Round).per_s)
  return { name, value: median(ratios), unit: 'x', raw: rawOf(ours, theirs, ratios) }
}

async function measure(load: Child<LoadHandlers>, side: Side, ms: number): Promise<Round> {
  const request: Load = { url: side.url, key: side.key, connections: CONNECTIONS, ms }
  const [sideFrom, loadFrom] = await Promise.all([side.usage(), load.usage()])
  const { sent, seconds, p99_ms } = await load.ask('run', request)
  const [sideTo, loadTo] = await Promise.all([side.usage(), load.usage()])
  const used = between(sideFrom, sideTo)
  const loadUsed = between(loadFrom, loadTo)
  return {
    per_s: sent / seconds,
    p99_ms,
    cpu_us: (used.cpu_ms * 1000) / sent,
    loop: used.loop,
    load_cpu_us: (loadUsed.cpu_ms * 1000) / sent,
    load_loop: loadUsed.loop,
  }
}

function rawOf(
  ours: readonly Round[],
  theirs: readonly Round[],
  ratios: readonly number[],
): string {
  const cpu = median(theirs.map(({ cpu_us }) => cpu_us)) / median(ours.map(({ cpu_us }) => cpu_us))
  const range = [Math.min(...ratios), Math.max(...ratios)].map(count).join('–')
  return [
    `${sideOf('service', ours)}; ${sideOf('bare route', theirs)}`,
    `by CPU alone ${count(cpu)}x; ${ratios.length} rounds, ratios ${range}`,
  ].join('; ')
}

function sideOf(name: string, rounds: readonly Round[]): string {
  const of = (field: keyof Round) => median(rounds.map((round) => round[field]))
  const cpu = `${count(of('cpu_us'))} µs of CPU each (generator ${count(of('load_cpu_us'))})`
  const loops = `event loop ${percent(of('loop'))} busy (generator ${percent(of('load_loop'))})`
  return `${name} ${count(of('per_s'))}/s, p99 ${count(of('p99_ms'))} ms, ${cpu}, ${loops}`
}
