import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Runtime, systemRuntime } from '../../../packages/core/src/runtime/runtime.ts'
import { openStorage } from '../../../packages/core/src/storage/open.ts'
import type { Storage } from '../../../packages/core/src/storage/ports/storage.ts'
import { type PostgresServer, startPostgres } from '../../../packages/core/test/postgres-server.ts'
import { Pool } from '../postgres/plain.ts'

/** The unit of processor time on Linux is a hundredth of a second. */
const TICK_MS = 10

/** A private server with accounting of its time. */
export interface Scratch {
  server: PostgresServer
  /** Milliseconds of CPU of all its processes, including ended ones. */
  cpu_ms(): number
  /** Creates an empty database; returns its URL. */
  create(name: string): Promise<string>
  /** A new database with the service's schema. */
  open(name: string): Promise<ScratchDatabase>
  stop(): Promise<void>
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
export async function startScratch(): Promise<Scratch> {
  const server = await startPostgres({
    settings: { autovacuum: 'off', shared_buffers: '512MB', max_wal_size: '8GB' },
  })
  const postmaster = readFileSync(join(server.folder, 'data', 'postmaster.pid'), 'utf8')
  const pid = Number.parseInt(postmaster, 10)
  return {
    server,
    cpu_ms: () => cpuOf(pid),
    create: (name) => createDatabase(server.url, name),
    open: async (name) => openDatabase(await createDatabase(server.url, name)),
    stop: server.stop,
  }
}

async function createDatabase(serverUrl: string, name: string): Promise<string> {
  const maker = new Pool({ connectionString: serverUrl, max: 1 })
  await maker.query(`create database ${name}`)
  await maker.end()
  return serverUrl.replace(/[^/]*$/, name)
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

function cpuOf(postmaster: number): number {
  let ticks = 0
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    const fields = statOf(entry)
    if (Number(entry) === postmaster) {
      // Its own time, and that of its ended children.
      ticks += sum(fields.slice(11, 15))
    } else if (Number(fields[1]) === postmaster) ticks += sum(fields.slice(11, 13))
  }
  return ticks * TICK_MS
}

/** The fields of a process's `stat` after its name; none when it has ended meanwhile. */
function statOf(pid: string): string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}

function sum(ticks: string[]): number {
  return ticks.reduce((all, tick) => all + Number(tick), 0)
}
