import { afterAll, beforeAll, expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../packages/core/test/postgres-database.ts'
import { interleave } from '../proof/interleave/run.ts'
import { RUNS_ALL_CASES } from './all-cases.ts'

/** Enough to meet waits for locks and each kind of fault. */
const RANDOM_ORDERS = RUNS_ALL_CASES ? 500 : 60

/** Pairs of which both change what the other has read, so that they need the locks of the stores. */
const PAIRS = [
  ['rotate the secret', 'rotate the secret'],
  ['grant', 'accept'],
  ['grant', 'settle as refused'],
] as const

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database?.drop())

// `npm run interleave` explores more. A failure prints the statements in their order.
it('keeps every rule in any order of the statements of several servers, and with faults', async () => {
  const seed = Date.now() % 1_000_000
  const result = await interleave(database.url, {
    ...{ seed, per_pair: 12, preemptions: 1, random_orders: RANDOM_ORDERS },
    pairs: PAIRS,
  })
  expect(result.violations, `seed ${seed}`).toEqual([])
  expect(result.blocked).toBeGreaterThan(0)
}, 300_000)
