import { expect, it } from 'vitest'
import { runArea } from '../proof/mutants/run.ts'

const DECIDE = 'packages/core/src/rules/decide'

// `npm run mutants` has hundreds of them, of five folders.
it('notices changes of what decides about money', { timeout: 300_000 }, async () => {
  const area = { name: 'decide', folder: 'packages/core/src/rules', tests: [`${DECIDE}.test.ts`] }
  const fates = await runArea(area, { count: 10, seed: 1, only: `${DECIDE}.ts`, postgres_url: '' })
  expect(fates).toHaveLength(10)
  const survivors = fates.filter(({ by }) => by === null).map(({ mutant }) => mutant)
  expect(survivors.length, JSON.stringify(survivors)).toBeLessThanOrEqual(1)
})
