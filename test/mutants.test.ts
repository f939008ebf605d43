import { expect, it } from 'vitest'
import { FIRST } from '../scripts/mutants/list.ts'
import { runMutants } from '../scripts/mutants/run.ts'

// `npm run mutants` has more of them.
it('notices a missing guard of the ledger', { timeout: 300_000 }, async () => {
  const fates = await runMutants(FIRST, { postgresUrl: null })
  const outcomes = fates.map(({ mutant, outcome }) => [mutant.name, outcome])
  expect(outcomes).toEqual(FIRST.map(({ name }) => [name, 'noticed']))
})
