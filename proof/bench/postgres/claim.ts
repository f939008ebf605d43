import { systemRuntime } from '../../../packages/core/src/runtime/runtime.ts'
import { openStorage } from '../../../packages/core/src/storage/open.ts'
import type { Storage } from '../../../packages/core/src/storage/ports/storage.ts'
import { type Postgres, startPostgres } from '../../stage/postgres.ts'
import { onStage, type Stage } from '../../stage/stage.ts'
import { type BenchOptions, count, type Figure, median } from '../figure.ts'
import { inTurns } from '../rounds.ts'
import { Pool } from './plain.ts'

const CEILING = 2
const BATCH = 64
const LEASE_MS = 30_000

/** The number of rows in the queue, all due. */
interface Queue {
  storage: Storage
  pool: Pool
}

/** The cost of a claim in a queue of 1,000,000 rows, as a multiple of one in a queue of 1,000; in turns. */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  const few = 1_000
  const many = quick ? 100_000 : 1_000_000
  const claims = quick ? 40 : 200
  return onStage(async (stage) => {
    const database = await startPostgres({ stage })
    const [small, large] = [await fill(stage, database, few), await fill(stage, database, many)]
    const sides = { few: () => claim(small), many: () => claim(large) }
    const times = await inTurns(sides, claims, { areWarm: true })
    // The first half warms up: caches, and the tables' statistics.
    const of = (times_ms: readonly number[]) => median(times_ms.slice(claims / 2))
    return [
      {
        name: `PostgreSQL, a claim among ${many.toLocaleString('en-US')} queued against one among 1,000`,
        // A cost has a ceiling; a figure with a floor is its inverse.
        value: of(times.few) / of(times.many),
        unit: 'x',
        floor: 1 / CEILING,
        raw: `a claim of ${BATCH} takes ${count(of(times.many))} ms among many, ${count(of(times.few))} ms among few: ${count(of(times.many) / of(times.few))} times as much, at most ${CEILING}; ${claims} claims each`,
      },
    ]
  })
}

async function fill(stage: Stage, database: Postgres, size: number): Promise<Queue> {
  const url = await database.create(`queue_${size}`)
  const storage = await openStorage(url, systemRuntime())
  stage.atEnd(() => storage.close())
  const pool = new Pool({ connectionString: url, max: 1 })
  stage.atEnd(() => pool.end())
  // As if accepted one by one, one a millisecond; ids grow with time.
  await pool.query(
    `insert into messages (id, workspace_id, channel, recipient, content, metadata, livemode, status, accepted,
       credits_used, credits_refunded, sequence, created_at, updated_at)
     select lpad(i::text, 36, '0'), 'w', 'sms', '+14155552671', '{"text":"Your order A1 is ready"}', '{}', true,
       'queued', false, 1000000, 0, 0, at, at
     from generate_series(1, ${size}) i, lateral (select now() - (${size} - i) * interval '1 ms' as at) t`,
  )
  await pool.query(
    `insert into message_queue (message_id, workspace_id, channel, task, due_at, attempt)
     select id, workspace_id, channel, 'send', created_at, 0 from messages`,
  )
  await pool.query('vacuum analyze')
  return { storage, pool }
}

/** The milliseconds to claim a batch, which is put back afterwards. */
async function claim({ storage, pool }: Queue): Promise<number> {
  const now = new Date()
  const from = performance.now()
  const claimed = await storage.hot.claimMessages({
    now,
    elapsed_ms: from,
    limit: BATCH,
    lease_ms: LEASE_MS,
    token: 'bench',
    route: () => ({ provider: 'sandbox', sender: null }),
  })
  const taken_ms = performance.now() - from
  if (claimed.length !== BATCH) throw new Error(`claimed ${claimed.length} of ${BATCH}`)
  const ids = [claimed.map(({ message_id }) => message_id)]
  await pool.query(
    `update message_queue q set due_at = m.created_at, token = null, attempt = 0
     from messages m where m.workspace_id = q.workspace_id and m.id = q.message_id and q.message_id = any($1)`,
    ids,
  )
  await pool.query('delete from message_attempts where message_id = any($1)', ids)
  return taken_ms
}
