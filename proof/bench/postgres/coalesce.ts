import { units } from '../../../packages/core/src/contract/fields/units.ts'
import { systemRuntime } from '../../../packages/core/src/runtime/runtime.ts'
import { openStorage } from '../../../packages/core/src/storage/open.ts'
import { builders } from '../../../packages/core/test/fixtures.ts'
import { startPostgres } from '../../stage/postgres.ts'
import { onStage } from '../../stage/stage.ts'
import { type BenchOptions, count, type Figure, median } from '../figure.ts'
import { inTurns } from '../rounds.ts'
import { Pool, sendPlainly } from './plain.ts'

const FLOOR = 4
const CALLERS = [16, 64]
const PLENTY = units(900_000_000_000_000)

/**
 * Sends of one hot workspace, which all change the same balance: the service coalesces them into shared commits; the
 * comparison is one transaction with `SELECT … FOR UPDATE` for each request. The same callers, in turns.
 */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  return onStage(async (stage) => {
    const database = await startPostgres({ stage })
    const runtime = systemRuntime()
    const make = builders(runtime)
    const storage = await openStorage(database.url, runtime)
    stage.atEnd(() => storage.close())
    const pool = new Pool({ connectionString: database.url, max: Math.max(...CALLERS) })
    stage.atEnd(() => pool.end())
    const workspace = make.workspace()
    await storage.write(async ({ workspaces, credits }) => {
      await workspaces.insert(workspace)
      await credits.open(workspace.id, runtime.now())
      await credits.post(workspace.id, make.grant(PLENTY))
    })
    const coalesced = async () => {
      const [result] = await storage.hot.accept([make.send(workspace.id)])
      if (result?.outcome !== 'accepted') throw new Error(`refused: ${result?.outcome}`)
    }
    const plain = () => sendPlainly(pool, make.send(workspace.id))
    const plan = quick ? { rounds: 3, ms: 1_000 } : { rounds: 5, ms: 3_000 }
    const figures: Figure[] = []
    for (const callers of CALLERS) {
      const { ours, theirs } = await inTurns(
        {
          ours: () => rateOf(coalesced, callers, plan.ms),
          theirs: () => rateOf(plain, callers, plan.ms),
        },
        plan.rounds,
      )
      figures.push({
        name: `PostgreSQL, one hot workspace, ${callers} callers`,
        value: median(ours.map((rate, i) => rate / (theirs[i] ?? Number.NaN))),
        unit: 'x',
        floor: FLOOR,
        raw: `coalesced ${count(median(ours))}/s, SELECT … FOR UPDATE ${count(median(theirs))}/s; ${plan.rounds} rounds`,
      })
    }
    return figures
  })
}

/** Ends of `send` a second, when `callers` call it repeatedly. */
async function rateOf(send: () => Promise<void>, callers: number, ms: number): Promise<number> {
  const from = performance.now()
  const until = from + ms
  let sent = 0
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (performance.now() < until) {
        await send()
        sent += 1
      }
    }),
  )
  return (sent * 1000) / (performance.now() - from)
}
