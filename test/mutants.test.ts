import { expect, it } from 'vitest'
import { runArea } from '../proof/mutants/run.ts'

const RULES = 'packages/core/src/rules'

// `npm run mutants` has hundreds of them, of five folders.
it('notices changes of what decides about money', { timeout: 300_000 }, async () => {
  const area = {
    name: 'decide',
    folder: RULES,
    tests: [`${RULES}/decide.test.ts`, `${RULES}/tolerance.test.ts`],
  }
  const unsound: string[] = []
  const fates = await runArea(area, {
    count: 10,
    seed: 1,
    only: `${RULES}/decide.ts`,
    postgres_url: '',
    onUnsound: (text) => unsound.push(text),
  })
  expect(unsound).toEqual([])
  expect(fates).toHaveLength(10)
  const survivors = fates.filter(({ by }) => by === null).map(({ mutant }) => mutant)
  // Some mutants change nothing that a test can see.
  expect(survivors.length, JSON.stringify(survivors)).toBeLessThanOrEqual(2)
})
