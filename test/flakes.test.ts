import { describe, expect, it } from 'vitest'
import { addFailures, type Flake, linesOf, type Report } from '../proof/flakes.ts'

type Result = Report['testResults'][number]

function fileOf(
  name: string,
  failures: Record<string, string>,
  fields: Partial<Result> = {},
): Result {
  const assertionResults = Object.entries(failures).map(([fullName, message]) => ({
    fullName,
    status: message === '' ? 'passed' : 'failed',
    failureMessages: message === '' ? [] : [message],
  }))
  const status = assertionResults.some(({ status }) => status === 'failed') ? 'failed' : 'passed'
  return { name, message: '', status, assertionResults, ...fields }
}

function linesFor(...rounds: Result[][]): string[] {
  const flakes = new Map<string, Flake>()
  for (const [i, testResults] of rounds.entries()) addFailures(flakes, i + 1, { testResults })
  return linesOf(flakes.values(), rounds.length, '/svc')
}

describe('the search for flaky tests', () => {
  it('lists a test that failed in one of the rounds, with the first line of its error', () => {
    const good = fileOf('/svc/test/a.test.ts', { works: '', waits: '' })
    const bad = fileOf('/svc/test/a.test.ts', { works: '', waits: 'Error: seed 7\n    at a.ts:1' })
    expect(linesFor([good], [bad], [good])).toEqual([
      '1 of 3 (rounds 2): test/a.test.ts > waits',
      '    Error: seed 7',
    ])
  })

  it('lists the most frequent one first, and each different error once', () => {
    const rare = fileOf('/svc/a.test.ts', { rare: 'late' })
    const often = (reason: string) => fileOf('/svc/b.test.ts', { often: reason })
    expect(linesFor([rare, often('x')], [often('y')], [often('x')])).toEqual([
      '3 of 3 (rounds 1, 2, 3): b.test.ts > often',
      '    x',
      '    y',
      '1 of 3 (rounds 1): a.test.ts > rare',
      '    late',
    ])
  })

  it('counts a file that could not be loaded', () => {
    const file = fileOf('/svc/a.test.ts', {}, { status: 'failed', message: 'no such module' })
    expect(linesFor([file])).toEqual(['1 of 1 (rounds 1): a.test.ts', '    no such module'])
  })

  it('lists nothing if every round passed', () => {
    expect(linesFor([fileOf('/svc/a.test.ts', { works: '' })])).toEqual([])
  })
})
