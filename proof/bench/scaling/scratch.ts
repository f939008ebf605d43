import { type Runtime, systemRuntime } from '../../../packages/core/src/runtime/runtime.ts'
import { openStorage } from '../../../packages/core/src/storage/open.ts'
import type { Storage } from '../../../packages/core/src/storage/ports/storage.ts'
import { cpuOfFamily } from '../../stage/figures.ts'
import { startPostgres } from '../../stage/postgres.ts'
import type { Stage } from '../../stage/stage.ts'
import { Pool } from '../postgres/plain.ts'

/** A private server with accounting of its time. */
export interface Scratch {
  /** Milliseconds of CPU of all its processes, including ended ones. */
  cpu_ms(): number
  /** Creates an empty database; returns its URL. */
  create(name: string): Promise<string>
  /** A new database with the service's schema. */
  open(name: string): Promise<ScratchDatabase>
}

export interface ScratchDatabase {
  url: string
  storage: Storage
  runtime: Runtime
  pool: Pool
  /** The only row of a query. */
  one<Row>(query: string, values?: unknown[]): Promise<Row>
  close(): Promise<void>
}

/** Starts it. Vacuum runs only when it is measured. */
export async function startScratch(stage: Stage): Promise<Scratch> {
  const { pid, create } = await startPostgres({
    stage,
    settings: { autovacuum: 'off', shared_buffers: '512MB', max_wal_size: '8GB' },
  })
  return {
    cpu_ms: () => cpuOfFamily(pid()),
    create,
    open: async (name) => openDatabase(await create(name)),
  }
}

async function openDatabase(url: string): Promise<ScratchDatabase> {
  const runtime = systemRuntime()
  const storage = await openStorage(url, runtime)
  const pool = new Pool({ connectionString: url, max: 1 })
  return {
    url,
    storage,
    runtime,
    pool,
    async one<Row>(query: string, values: unknown[] = []) {
      const { rows } = await pool.query<Row>(query, values)
      if (rows[0] === undefined) throw new Error('no row')
      return rows[0]
    },
    async close() {
      await storage.close()
      await pool.end()
    },
  }
}
