import { afterAll, beforeAll } from 'vitest'
import { keptOpen } from './postgres/kept-open.ts'
import { createDatabase, type TestDatabase } from './postgres-database.ts'
import { storageContract } from './storage.contract.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
const { open, end } = keptOpen(() => database)
afterAll(async () => {
  await end()
  await database?.drop()
})

storageContract('PostgreSQL', open)
