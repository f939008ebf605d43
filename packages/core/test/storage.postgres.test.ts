import { afterAll, beforeAll } from 'vitest'
import { openPostgres } from '../src/storage/postgres/postgres.ts'
import { testRuntime } from './fixtures.ts'
import { createDatabase, type TestDatabase } from './postgres-database.ts'
import { storageContract } from './storage.contract.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database?.drop())

storageContract('PostgreSQL', async () => {
  await database.clear()
  const runtime = testRuntime('storage')
  const open = () => openPostgres(database.url, runtime, { clock: 'given' })
  let storage = await open()
  return {
    storage,
    async reopen() {
      await storage.close()
      storage = await open()
      return storage
    },
    close: () => storage.close(),
  }
})
