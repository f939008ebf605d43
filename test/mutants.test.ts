import { expect, it } from 'vitest'
import { FIRST } from '../scripts/mutants/list.ts'
import { runMutants } from '../scripts/mutants/run.ts'
import { RUNS_ALL_CASES } from './all-cases.ts'

// `npm run mutants` has more of them.
it('notices a missing guard of the ledger', { timeout: 300_000 }, async () => {
  const mutants = RUNS_ALL_CASES ? FIRST : FIRST.slice(0, 1)
  const fates = await runMutants(mutants, { postgresUrl: null })
  const outcomes = fates.map(({ mutant, outcome }) => [mutant.name, outcome])
  expect(outcomes).toEqual(mutants.map(({ name }) => [name, 'noticed']))
})
