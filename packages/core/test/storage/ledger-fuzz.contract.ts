import fc from 'fast-check'
import { expect, it } from 'vitest'
import { RUNS_ALL_CASES } from '../../../../test/all-cases.ts'
import { benchFor, type OpenStorage } from './bench.ts'
import { startLedgerRun } from './ledger-run.ts'
import { ledgerHistories } from './ledger-steps.ts'

/**
 * Random histories of the ledger, each step held against a model in memory. A failure prints the seed, the path to the
 * shortest history that fails, and that history. The environment repeats it, or makes a longer run:
 *
 *     SVC_FUZZ_SEED=42 SVC_FUZZ_PATH=17:3 npx vitest run packages/core/test -t 'any ledger'
 *     SVC_FUZZ_SEED=$RANDOM SVC_FUZZ_OPERATIONS=1000000 npx vitest run packages/core/test -t 'any ledger'
 */
const {
  SVC_FUZZ_SEED = '20260504',
  SVC_FUZZ_OPERATIONS = RUNS_ALL_CASES ? '1200' : '360',
  SVC_FUZZ_PATH: path,
} = process.env
const SEED = Number(SVC_FUZZ_SEED)
const OPERATIONS = Number(SVC_FUZZ_OPERATIONS)

const STEPS_MAX = 100
/** Each request, posting and settlement is one: about two a step, in histories half as long as the longest. */
const RUNS = Math.ceil(OPERATIONS / (STEPS_MAX * 0.9))

/** What is found until then is printed; the test's own time-out would say nothing. */
const TIME_MAX_MS = 60_000 + 20 * OPERATIONS

/** For any requests in any order, and at the same moment, the books are those that the contract describes. */
export function ledgerFuzzContract(open: OpenStorage): void {
  const bench = benchFor(open)

  it('keeps the books of the model', { timeout: TIME_MAX_MS + 30_000 }, async () => {
    let taken = 0
    await fc.assert(
      fc.asyncProperty(ledgerHistories(STEPS_MAX), async (history) => {
        const run = await startLedgerRun(bench)
        for (const step of history) {
          taken += await run.take(step)
        }
        await run.finish()
      }),
      {
        seed: SEED,
        numRuns: RUNS,
        ...(path !== undefined && { path }),
        interruptAfterTimeLimit: TIME_MAX_MS,
        markInterruptAsFailure: true,
      },
    )
    if (path === undefined) expect(taken).toBeGreaterThan(OPERATIONS * 0.8)
  })
}
