import { startChild } from '../stage/child.ts'
import { inFolder, startService } from '../stage/service.ts'
import type { BenchOptions, Figure } from './figure.ts'
import type { LoadHandlers } from './processes/load.ts'
import { compare, inTurns, planOf, type Side, startBareRoute } from './rounds.ts'

/**
 * Durably accepted sends a second, as a share of a bare framework route: the same bodies, the same answers, the same 64
 * connections, in turns.
 */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  return inFolder(async (folder) => {
    const load = startChild<LoadHandlers>('bench/processes/load.ts', { folder })
    const bare = await startBareRoute(folder)
    const accepting = await startService(folder, 'accepting', { dispatch: false })
    const dispatching = await startService(folder, 'dispatching', { dispatch: true })
    const sideOf = ({ url, key, child }: typeof accepting, settle: Side['settle']): Side => ({
      urls: [url],
      key,
      usages: async () => [await child.usage()],
      settle,
    })
    try {
      const sides: [string, Side][] = [
        ['accept', sideOf(accepting, async () => {})],
        ['accept, dispatching', sideOf(dispatching, () => dispatching.child.request('idle', null))],
      ]
      const figures: Figure[] = []
      for (const [name, service] of sides) {
        const rounds = await inTurns(load, { service, bare: bare.side }, planOf(quick))
        const compared = compare(['service', rounds.service], ['bare route', rounds.bare])
        figures.push({ name, unit: 'x', ...compared })
      }
      return figures
    } finally {
      const children = [load, bare, accepting.child, dispatching.child]
      await Promise.all(children.map((child) => child.end()))
    }
  })
}
