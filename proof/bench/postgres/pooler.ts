import { startChild } from '../../stage/child.ts'
import { cpuOf, cpuOfFamily } from '../../stage/figures.ts'
import { hasPooler, startPooler, startPostgres } from '../../stage/postgres.ts'
import { startService } from '../../stage/service.ts'
import { onStage } from '../../stage/stage.ts'
import type { BenchOptions, Figure } from '../figure.ts'
import type { LoadHandlers } from '../processes/load.ts'
import { compare, loadInTurns, planOf, type Side, sideOf } from '../rounds.ts'

const NAME = 'PostgreSQL, accept through PgBouncer against a direct connection'

/**
 * Durably accepted sends a second through PgBouncer in transaction mode, as a share of those over a direct connection, in turns.
 * The CPU is that of the service, of PostgreSQL and of PgBouncer together.
 */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  if (!hasPooler) {
    return [{ name: NAME, value: Number.NaN, unit: 'x', missing: 'PgBouncer is not installed' }]
  }
  return onStage(async (stage) => {
    const database = await startPostgres({ stage })
    const pooler = await startPooler(database.url, 'transaction')
    stage.atEnd(pooler.stop)
    const load = startChild<LoadHandlers>(stage, 'bench/processes/load.ts')
    const options = { dispatch: false }
    const direct = await startService(stage, 'direct', { ...options, database_url: database.url })
    const pooled = await startService(stage, 'pooled', {
      ...options,
      database_url: pooler.url,
      key: direct.key,
    })
    const others = (): number => cpuOfFamily(database.pid()) + cpuOf(pooler.pid())
    const withOthers = (side: Side): Side => ({
      ...side,
      usages: async () => [
        ...(await side.usages()),
        { at_ms: performance.now(), cpu_ms: others(), busy_ms: 0 },
      ],
    })
    const sides = { pooled: withOthers(sideOf([pooled])), direct: withOthers(sideOf([direct])) }
    const rounds = await loadInTurns(load, sides, planOf(quick))
    return [{ name: NAME, ...compare(['pooled', rounds.pooled], ['direct', rounds.direct]) }]
  })
}
