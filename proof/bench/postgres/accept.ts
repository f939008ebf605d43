import { startPostgres } from '../../../packages/core/test/postgres-server.ts'
import { startChild } from '../../stage/child.ts'
import { inFolder, startService } from '../../stage/service.ts'
import type { BenchOptions, Figure } from '../figure.ts'
import type { LoadHandlers } from '../processes/load.ts'
import { compare, inTurns, planOf, type Side, startBareRoute } from '../rounds.ts'

/**
 * Durably accepted sends a second on PostgreSQL: one server as a share of the bare route, and two servers on one
 * database as a share of one. The same 64 connections, in turns.
 */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  return inFolder(async (folder) => {
    const database = await startPostgres()
    const load = startChild<LoadHandlers>('bench/processes/load.ts', { folder })
    const bare = await startBareRoute(folder)
    const options = { dispatch: false, database_url: database.url }
    const first = await startService(folder, 'first', options)
    const second = await startService(folder, 'second', { ...options, key: first.key })
    const sideOf = (...servers: (typeof first)[]): Side => ({
      urls: servers.map(({ url }) => url),
      key: first.key,
      usages: () => Promise.all(servers.map(({ child }) => child.usage())),
      settle: async () => {},
    })
    try {
      const sides = { one: sideOf(first), two: sideOf(first, second), bare: bare.side }
      const { one, two, bare: route } = await inTurns(load, sides, planOf(quick))
      return [
        {
          name: 'PostgreSQL, accept',
          ...compare(['service', one], ['bare route', route]),
          unit: 'x',
        },
        {
          name: 'PostgreSQL, two servers against one',
          ...compare(['two servers', two], ['one', one]),
          unit: 'x',
        },
      ]
    } finally {
      const children = [load, bare, first.child, second.child]
      await Promise.all(children.map((child) => child.end()))
      await database.stop()
    }
  })
}
