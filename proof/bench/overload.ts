import { startChild } from '../stage/child.ts'
import { startService } from '../stage/service.ts'
import { onStage } from '../stage/stage.ts'
import { type BenchOptions, count, type Figure, median } from './figure.ts'
import type { LoadHandlers } from './processes/load.ts'
import { inTurns } from './rounds.ts'

const CONNECTIONS = 3_000
const ROUND_MS = 6_000

/** The settings of the gate; off is a limit out of reach. */
const GATES = {
  on: { SVC_OVERLOAD_DELAY_MS: '200' },
  off: { SVC_OVERLOAD_DELAY_MS: '9999999', SVC_OVERLOAD_REQUESTS: '9999999' },
}

type Burst = Awaited<ReturnType<LoadHandlers['burst']>>
type Probe = Awaited<ReturnType<LoadHandlers['probe']>>
type Round = Burst & { probe: Probe }

/**
 * 3,000 clients that connect at the same moment and send without a pause, to a service whose gate sheds by delay and
 * to a service without the gate, in turns; beside them a health probe. A refused client waits for a second.
 */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  return onStage(async (stage) => {
    const load = startChild<LoadHandlers>(stage, 'bench/processes/load.ts')
    const prober = startChild<LoadHandlers>(stage, 'bench/processes/load.ts')
    const ms = quick ? ROUND_MS / 2 : ROUND_MS
    const sideOf = async (gate: keyof typeof GATES) => {
      const env = { ...GATES[gate], SVC_LOG_LEVEL: 'error' }
      const { url, key, child } = await startService(stage, gate, { dispatch: true, env })
      return async (): Promise<Round> => {
        const [burst, probe] = await Promise.all([
          load.request('burst', { url, key, connections: CONNECTIONS, ms }),
          prober.request('probe', { url, ms }),
        ])
        await child.request('idle', null)
        return { ...burst, probe }
      }
    }
    const sides = { off: await sideOf('off'), on: await sideOf('on') }
    return figures(await inTurns(sides, quick ? 1 : 3, { areWarm: true }))
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
