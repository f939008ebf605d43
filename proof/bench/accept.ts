import { startChild } from '../stage/child.ts'
import { startService } from '../stage/service.ts'
import { onStage } from '../stage/stage.ts'
import type { BenchOptions, Figure } from './figure.ts'
import type { LoadHandlers } from './processes/load.ts'
import { compare, loadInTurns, planOf, type Side, sideOf, startBareRoute } from './rounds.ts'

/**
 * Durably accepted sends a second, as a share of a bare framework route: the same bodies, the same answers, the same 64
 * connections, in turns.
 */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  return onStage(async (stage) => {
    const load = startChild<LoadHandlers>(stage, 'bench/processes/load.ts')
    const bare = await startBareRoute(stage)
    const accepting = await startService(stage, 'accepting', { dispatch: false })
    const dispatching = await startService(stage, 'dispatching', { dispatch: true })
    const sides: [string, Side][] = [
      ['accept', sideOf([accepting])],
      ['accept, dispatching', sideOf([dispatching], () => dispatching.child.request('idle', null))],
    ]
    const figures: Figure[] = []
    for (const [name, service] of sides) {
      const rounds = await loadInTurns(load, { service, bare }, planOf(quick))
      const compared = compare(['service', rounds.service], ['bare route', rounds.bare])
      figures.push({ name, ...compared })
    }
    return figures
  })
}
