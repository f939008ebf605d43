import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { dialects } from '../rows/dialect.ts'
import { tables } from '../rows/tables.ts'
import { placedReads, withErrors } from './placed-reads.ts'
import { READ_PLACES, type Reads } from './ports/storage.ts'
import { dbOver } from './sqlite/engine/db.ts'
import type { StoreDialect } from './stores/queries.ts'
import { openReads, openWrites } from './stores/stores.ts'

type Verbs = Record<string, () => Promise<unknown>>

const db = dbOver(async () => ({ rows: [] }))
const dialect: StoreDialect = {
  locked: (query) => query,
  kept: (query) => query,
  alone: async () => {},
  hold: async () => {},
  mayFold: async () => true,
  present: (at) => at,
  bucketOf: () => sql<number>`0`,
  messageContent: sql`content`,
  messagesByBulk: sql`messages`,
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

describe('placedReads', () => {
  it('takes each query from the set of its place', async () => {
    const sets = { near: stores('near'), primary: stores('primary'), replica: stores('replica') }
    const placed = placedReads(sets) as unknown as Record<string, Verbs>
    const found: Record<string, Record<string, unknown>> = {}
    for (const [store, own] of Object.entries(placed)) {
      const verbs = Object.entries(own).map(async ([verb, run]) => [verb, await run()])
      if (verbs.length > 0) found[store] = Object.fromEntries(await Promise.all(verbs))
    }
    expect(found).toEqual(READ_PLACES)
    expect(new Set(Object.values(found).flatMap((own) => Object.values(own))).size).toBe(3)
  })

  it('gives no replica a query whose answer decides something', () => {
    const deciding =
      /^(accountTokens|sessions|users|secondFactors|passkeys|loginNetworks|creditHolds|creditLots|lowBalances|purchases|idempotencyRecords|recipientIndex|files|messageParts|providerPauses|dispatchPauses|parkedReceipts|secrets|sealedValues|retention|history|erasure|operators|eventLog)\.|\.(by\w+|account|spentOn|testUsage|of|usable|due\w*|queuedOf|ofBulk|retryOf|count(sOf|Open|Audience|Begun)|holding|names|audience|nextBulk|waiting|queued)$/
    const shown = Object.entries(READ_PLACES).flatMap(([store, verbs]) =>
      Object.entries(verbs).flatMap(([verb, place]) =>
        place === 'replica' ? [`${store}.${verb}`] : [],
      ),
    )
    expect(shown.filter((name) => deciding.test(name))).toEqual([])
    expect(shown.length).toBeGreaterThan(40)
  })
})

it('withErrors replaces the error of a query', async () => {
  const cause = new Error('no such table')
  const fail = async () => {
    throw new Error('Failed query: select 1 params: +255700000001', { cause })
  }
  const failing = { messages: { list: fail } } as unknown as Reads
  const { messages } = withErrors(failing, (error) => (error as Error).cause)
  await expect(messages.list('w1', {}, { limit: 1, offset: 0 })).rejects.toBe(cause)
})
