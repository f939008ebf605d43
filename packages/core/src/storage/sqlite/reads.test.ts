import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { dialects } from '../../rows/dialect.ts'
import { tables } from '../../rows/tables.ts'
import { NEAR_READS, type Reads } from '../ports/storage.ts'
import type { StoreDialect } from '../stores/queries.ts'
import { openReads, openWrites } from '../stores/stores.ts'
import { dbOver } from './engine/db.ts'
import { divideReads } from './sqlite.ts'

type Verbs = Record<string, () => Promise<unknown>>

const db = dbOver(async () => ({ rows: [] }))
const dialect: StoreDialect = {
  locked: (query) => query,
  kept: (query) => query,
  alone: async () => {},
  hold: async () => {},
  present: (at) => at,
  bucketOf: () => sql<number>`0`,
}

/** Every verb of every store, as `store.verb`; each returns `side`. */
function stores(side: string): Reads {
  const real = openReads(db, tables(dialects.sqlite), dialect)
  const named = Object.entries(real as unknown as Record<string, Verbs>).map(([name, store]) => [
    name,
    Object.fromEntries(Object.keys(store).map((verb) => [verb, async () => side])),
  ])
  return Object.fromEntries(named)
}

/** The source of a verb that changes rows or locks them. */
const CHANGES = /(?:\.(?:insert|update|delete)|\b(?:locked|kept|hold|alone|removeOldest))\)?\(/

/** The verbs of stores with such a source, as `store.verb`. */
function changing(all: object): string[] {
  return Object.entries(all).flatMap(([store, own]: [string, object]) =>
    Object.entries(own).flatMap(([verb, run]) =>
      CHANGES.test(String(run)) ? [`${store}.${verb}`] : [],
    ),
  )
}

it('no query of a store changes or locks rows', () => {
  expect(changing(openReads(db, tables(dialects.sqlite), dialect))).toEqual([])
  // The sources of verbs can be read here, and most of the other verbs have such a line.
  expect(changing(openWrites(db, tables(dialects.sqlite), dialect)).length).toBeGreaterThan(100)
})

describe('divideReads', () => {
  it('runs exactly the queries of NEAR_READS near', async () => {
    const divided = Object.entries(
      divideReads(stores('near'), stores('far')) as unknown as Record<string, Verbs>,
    )
    const verbs = divided.flatMap(([store, own]) =>
      Object.entries(own).map(([verb, run]) => ({ name: `${store}.${verb}`, run })),
    )
    const sides = await Promise.all(verbs.map(async ({ name, run }) => [name, await run()]))
    const near = sides.flatMap(([name, side]) => (side === 'near' ? [name] : []))
    const listed = Object.entries(NEAR_READS).flatMap(([store, own]) =>
      own.map((verb) => `${store}.${verb}`),
    )
    expect(near.toSorted()).toEqual(listed.toSorted())
    expect(verbs.length).toBeGreaterThan(100)
  })

  it('throws the error of the thread, without the values of the query', async () => {
    const cause = new Error('no such table')
    const fail = async () => {
      throw new Error('Failed query: select 1 params: +255700000001', { cause })
    }
    const failing = { messages: { list: fail } } as unknown as Reads
    const { messages } = divideReads(failing, failing)
    await expect(messages.list('w1', {}, { limit: 1, offset: 0 })).rejects.toBe(cause)
  })
})
