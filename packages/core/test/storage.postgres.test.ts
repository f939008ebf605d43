import { afterAll, beforeAll } from 'vitest'
import { keptOpen } from './postgres/kept-open.ts'
import { createDatabase, type TestDatabase } from './postgres-database.ts'
import { storageContract } from './storage.contract.ts'

let database: TestDatabase
const { open, end } = keptOpen(() => database)
beforeAll(async () => {
  database = await createDatabase()
  // No test is the one that prepares the statements of all.
  await open()
})
afterAll(async () => {
  await end()
  await database?.drop()
})

storageContract('PostgreSQL', open)
