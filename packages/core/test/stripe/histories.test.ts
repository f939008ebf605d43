import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { RUNS_ALL_CASES } from '../../../../test/all-cases.ts'
import type { Storage } from '../../src/storage/ports/storage.ts'
import { openPostgres } from '../../src/storage/postgres/postgres.ts'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { testRuntime } from '../fixtures.ts'
import { createDatabase } from '../postgres-database.ts'
import { playHistory } from './history.ts'

/**
 * Every run plays the same histories. To play one or many others:
 *
 *     SVC_FUZZ_SEED=4711 SVC_FUZZ_HISTORIES=1 npx vitest run packages/core/test/stripe/histories.test.ts
 *     SVC_FUZZ_SEED=$RANDOM SVC_FUZZ_HISTORIES=100000 npx vitest run packages/core/test/stripe/histories.test.ts
 */
const { SVC_FUZZ_SEED = '1', SVC_FUZZ_HISTORIES = RUNS_ALL_CASES ? '150' : '60' } = process.env
const FIRST = Number(SVC_FUZZ_SEED)
const HISTORIES = Number(SVC_FUZZ_HISTORIES)
const HISTORIES_ON_POSTGRES = Math.ceil(HISTORIES / 12)

/** Histories that run at the same time: while one waits for a turn of the event loop, the others continue. */
const AT_ONCE = 24

/** Long enough for many histories. */
const MS_PER_HISTORY = 200
const timeout = (count: number) => 30_000 + count * MS_PER_HISTORY

async function playAll(storage: Storage, count: number): Promise<void> {
  const seeds = Array.from({ length: count }, (_, i) => FIRST + i).values()
  let played = 0
  const player = async () => {
    for (const seed of seeds) {
      await playHistory(seed, storage)
      played += 1
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, player))
  expect(played).toBe(count)
}

it(
  'SQLite: whatever happens, the credits end where the payments stand',
  async () => {
    // No test here loses its disk: on a file system in memory, thousands of histories take seconds.
    const memory = '/dev/shm'
    const folder = await mkdtemp(join(existsSync(memory) ? memory : tmpdir(), 'svc-histories-'))
    const storage = openSqlite(join(folder, 'svc.db'), testRuntime('histories'))
    try {
      await playAll(storage, HISTORIES)
    } finally {
      await storage.close()
      await rm(folder, { recursive: true })
    }
  },
  timeout(HISTORIES),
)

it(
  'PostgreSQL: whatever happens, the credits end where the payments stand',
  async () => {
    const database = await createDatabase()
    const storage = await openPostgres(database.url, testRuntime('histories'), { clock: 'caller' })
    try {
      await playAll(storage, HISTORIES_ON_POSTGRES)
    } finally {
      await storage.close()
      await database.drop()
    }
  },
  timeout(HISTORIES_ON_POSTGRES),
)
