import { startChild } from '../stage/child.ts'
import { inFolder, startService } from '../stage/service.ts'
import { type BenchOptions, count, type Figure, median } from './figure.ts'
import type { BurstHandlers } from './processes/burst.ts'

const CONNECTIONS = 3_000
const ROUND_MS = 6_000

/** The settings of the gate; off is a limit out of reach. */
const GATES = {
  on: { SVC_OVERLOAD_DELAY_MS: '200' },
  off: { SVC_OVERLOAD_DELAY_MS: '9999999', SVC_OVERLOAD_REQUESTS: '9999999' },
}

type Burst = Awaited<ReturnType<BurstHandlers['run']>>
type Probe = Awaited<ReturnType<BurstHandlers['probe']>>
type Round = Burst & { probe: Probe }

/**
 * 3,000 clients that connect at the same moment and send without a pause, to a service whose gate sheds by delay and
 * to a service without the gate, in turns; beside them a health probe. A refused client waits for a second.
 */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  return inFolder(async (folder) => {
    const load = startChild<BurstHandlers>('bench/processes/burst.ts', { folder })
    const prober = startChild<BurstHandlers>('bench/processes/burst.ts', { folder })
    const start = (gate: keyof typeof GATES) =>
      startService(folder, gate, {
        dispatch: true,
        env: { ...GATES[gate], SVC_LOG_LEVEL: 'error' },
      })
    const services = { on: await start('on'), off: await start('off') }
    const rounds = { on: [] as Round[], off: [] as Round[] }
    try {
      for (let round = 0; round < (quick ? 1 : 3); round++) {
        for (const gate of ['off', 'on'] as const) {
          const { url, key, child } = services[gate]
          const ms = quick ? ROUND_MS / 2 : ROUND_MS
          const [burst, probe] = await Promise.all([
            load.request('run', { url, key, connections: CONNECTIONS, ms }),
            prober.request('probe', { url, ms }),
          ])
          rounds[gate].push({ ...burst, probe })
          await child.request('idle', null)
        }
      }
      return figures(rounds)
    } finally {
      const children = [load, prober, services.on.child, services.off.child]
      await Promise.all(children.map((child) => child.end()))
    }
  })
}

function figures({ on, off }: Record<keyof typeof GATES, Round[]>): Figure[] {
  const figure = (name: string, of: (round: Round) => number, unit: Figure['unit']): Figure => {
    const [ours, theirs] = [median(on.map(of)), median(off.map(of))]
    const ratio = median(on.map((round, i) => of(round) / of(off[i] as Round)))
    return {
      name: `overload, ${name}`,
      value: ours,
      unit,
      raw: `${count(ratio)} times ${count(theirs)} with the gate off; rounds ${on.map(of).map(count).join(' ')}, off ${off.map(of).map(count).join(' ')}`,
    }
  }
  const refused: Figure = {
    name: 'overload, refused',
    value: median(on.map(({ accepted, refused }) => refused / (accepted + refused))),
    unit: 'x',
    raw: `of all answers; ${on.map(({ refused }) => count(refused)).join(' ')} refused, with the gate off ${off.map(({ refused }) => count(refused)).join(' ')}`,
  }
  return [
    refused,
    figure('slowest health probe', ({ probe }) => probe.max_ms, 'ms'),
    figure('slowest hundredth to connect', ({ connect_p99_ms }) => connect_p99_ms, 'ms'),
    figure('slowest hundredth of accepted sends', ({ accept_p99_ms }) => accept_p99_ms, 'ms'),
    figure('accepted', ({ accepted_per_s }) => accepted_per_s, '/s'),
  ]
}
