import { startChild } from '../../stage/child.ts'
import { startPostgres } from '../../stage/postgres.ts'
import { startService } from '../../stage/service.ts'
import { onStage } from '../../stage/stage.ts'
import type { BenchOptions, Figure } from '../figure.ts'
import type { LoadHandlers } from '../processes/load.ts'
import { compare, loadInTurns, planOf, sideOf, startBareRoute } from '../rounds.ts'

/**
 * Durably accepted sends a second on PostgreSQL: one server as a share of the bare route, and two servers on one
 * database as a share of one. The same 64 connections, in turns.
 */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  return onStage(async (stage) => {
    const database = await startPostgres({ stage })
    const load = startChild<LoadHandlers>(stage, 'bench/processes/load.ts')
    const bare = await startBareRoute(stage)
    const options = { dispatch: false, database_url: database.url }
    const first = await startService(stage, 'first', options)
    const second = await startService(stage, 'second', { ...options, key: first.key })
    const sides = { one: sideOf([first]), two: sideOf([first, second]), bare }
    const { one, two, bare: route } = await loadInTurns(load, sides, planOf(quick))
    return [
      {
        name: 'PostgreSQL, accept',
        ...compare(['service', one], ['bare route', route]),
      },
      {
        name: 'PostgreSQL, two servers against one',
        ...compare(['two servers', two], ['one', one]),
      },
    ]
  })
}
