import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { testRuntime } from '../fixtures.ts'
import { createDatabase } from '../postgres-database.ts'
import { playHistory } from './play.ts'
import { memorySubject, postgresSubject, type Subject, sqliteSubject } from './subjects.ts'

/** `npm run ledger-fuzz` plays a given number, and repeats one by its seed. */
const HISTORIES = { memory: 40, sqlite: 12, postgres: 6 }

async function playAll(count: number, open: () => Promise<Subject>): Promise<void> {
  const subject = await open()
  let operations = 0
  try {
    for (let seed = 1; seed <= count; seed++) {
      operations += await playHistory(subject, seed, new Map())
    }
  } finally {
    await subject.close()
  }
  expect(operations).toBeGreaterThan(count * 60)
}

it('the rules of the ledger keep its books', async () => {
  for (let seed = 1; seed <= HISTORIES.memory; seed++) {
    const subject = memorySubject(testRuntime(`ledger ${seed}`))
    expect(await playHistory(subject, seed, new Map())).toBeGreaterThan(30)
  }
})

it('SQLite keeps the books of the ledger', { timeout: 120_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-books-'))
  await playAll(HISTORIES.sqlite, () => sqliteSubject(testRuntime('ledger'), folder))
  await rm(folder, { recursive: true })
})

it('PostgreSQL keeps the books of the ledger', { timeout: 120_000 }, async () => {
  const database = await createDatabase()
  await playAll(HISTORIES.postgres, () => postgresSubject(testRuntime('ledger'), database.url))
  await database.drop()
})
