import { afterAll, beforeAll, expect } from 'vitest'
import { keptOpen } from './postgres/kept-open.ts'
import { watchNames } from './postgres-client.ts'
import { createDatabase, type TestDatabase } from './postgres-database.ts'
import { storageContract } from './storage.contract.ts'

let database: TestDatabase
let unnamed: () => string[]
const { open, end } = keptOpen(() => database)
beforeAll(async () => {
  unnamed = watchNames()
  database = await createDatabase()
  // No test is the one that prepares the statements of all.
  await open()
})
afterAll(async () => {
  const texts = unnamed()
  await end()
  await database?.drop()
  expect(texts, 'statements that are parsed anew each time').toEqual([])
})

storageContract('PostgreSQL', open)
