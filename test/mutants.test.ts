import { expect, it } from 'vitest'
import { reportOf, runArea } from '../proof/mutants/run.ts'

const FOLDER = 'proof/mutants/example'

// `npm run mutants` has hundreds of mutants of five folders; this is about the command itself.
it('reports what no test notices, and tests that fail without a mutant', async () => {
  const area = {
    name: 'example',
    folder: FOLDER,
    tests: [`${FOLDER}/limit.test.ts`, `${FOLDER}/repeated.test.ts`],
  }
  const unsound: string[] = []
  const fates = await runArea(area, {
    count: 10,
    seed: 1,
    postgres_url: '',
    onUnsound: (text) => unsound.push(text),
  })
  expect(unsound).toEqual([`${FOLDER}/repeated.test.ts fails without a mutant: runs once`])
  expect(reportOf(area, fates)).toEqual({
    lines: [
      `${FOLDER}/limit.ts:3  amount > limit  =>  amount >= limit`,
      'example: 4 of 5 noticed (80.0 %), 0 of them by their time',
    ],
    percent: 80,
  })
})
