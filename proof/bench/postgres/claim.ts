import { systemRuntime } from '../../../packages/core/src/runtime/runtime.ts'
import { openStorage } from '../../../packages/core/src/storage/open.ts'
import type { Storage } from '../../../packages/core/src/storage/ports/storage.ts'
import { startPostgres } from '../../../packages/core/test/postgres-server.ts'
import { type BenchOptions, count, type Figure, median } from '../figure.ts'
import { Pool } from './plain.ts'

const CEILING = 2
const BATCH = 64
const LEASE_MS = 30_000

/** The number of rows in the queue, all due. */
interface Queue {
  storage: Storage
  pool: Pool
  times_ms: number[]
}

/** The cost of a claim in a queue of 1,000,000 rows, as a multiple of one in a queue of 1,000; in turns. */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  const sizes = quick ? [1_000, 100_000] : [1_000, 1_000_000]
  const claims = quick ? 40 : 200
  const database = await startPostgres()
  const queues: Queue[] = []
  try {
    for (const size of sizes) queues.push(await fill(database.url, size))
    const [small, large] = queues as [Queue, Queue]
    for (let i = 0; i < claims; i++) {
      await claim(small)
      await claim(large)
    }
    // The first half warms up: caches, and the tables' statistics.
    const of = ({ times_ms }: Queue) => median(times_ms.slice(claims / 2))
    return [
      {
        name: `PostgreSQL, a claim among ${sizes[1]?.toLocaleString('en-US')} queued against one among 1,000`,
        // A cost has a ceiling; a figure with a floor is its inverse.
        value: of(small) / of(large),
        unit: 'x',
        floor: 1 / CEILING,
        raw: `a claim of ${BATCH} takes ${count(of(large))} ms among many, ${count(of(small))} ms among few: ${count(of(large) / of(small))} times as much, at most ${CEILING}; ${claims} claims each`,
      },
    ]
  } finally {
    for (const { storage, pool } of queues) {
      await storage.close()
      await pool.end()
    }
    await database.stop()
  }
}

async function fill(serverUrl: string, size: number): Promise<Queue> {
  const name = `queue_${size}`
  const server = new Pool({ connectionString: serverUrl, max: 1 })
  await server.query(`create database ${name}`)
  await server.end()
  const url = serverUrl.replace(/[^/]*$/, name)
  const storage = await openStorage(url, systemRuntime())
  const pool = new Pool({ connectionString: url, max: 1 })
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
  return { storage, pool, times_ms: [] }
}

/** Claims a batch, and puts it back outside of the measured time. */
async function claim({ storage, pool, times_ms }: Queue): Promise<void> {
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
  times_ms.push(performance.now() - from)
  if (claimed.length !== BATCH) throw new Error(`claimed ${claimed.length} of ${BATCH}`)
  const ids = [claimed.map(({ message_id }) => message_id)]
  await pool.query(
    `update message_queue q set due_at = m.created_at, token = null, attempt = 0
     from messages m where m.workspace_id = q.workspace_id and m.id = q.message_id and q.message_id = any($1)`,
    ids,
  )
  await pool.query('delete from message_attempts where message_id = any($1)', ids)
}
