import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { unmatchedChanges } from '../proof/simulate/planted.ts'
import { PLANTED_BUGS } from '../proof/simulate/planted-bugs.ts'
import { RUNS_ALL_CASES } from './all-cases.ts'

const SEEDS = fileURLToPath(new URL('seeds', import.meta.url))

/** Two seeds of a changed program compute for half a minute, and longer beside other work. Each run of the program loads and warms up for 18 s of CPU. */
const COMPUTES_MS = 180_000

// The simulation replaces the clock of its process.
function simulate(...values: string[]) {
  const command = ['--conditions=source', '--import', 'tsx', 'proof/simulate/run.ts', ...values]
  return spawnSync(process.execPath, command, { encoding: 'utf8' })
}

/** A seed computes for three seconds. `npm run simulate` runs more. */
const SEEDS_NOW = RUNS_ALL_CASES ? '2' : '1'

it(
  'keeps every promise in a simulated world, and the same seed has the same trace',
  () => {
    const { stdout, stderr, status } = simulate(
      '--seeds',
      SEEDS_NOW,
      '--seed',
      '1',
      '--twice',
      '--coverage',
    )
    expect(stderr).toBe('')
    expect(stdout).toContain(`${SEEDS_NOW} seeds, `)
    expect(stdout).toMatch(/^\d seeds, \d+ operations, \d+ faults, 0 broken;/m)
    expect(status).toBe(0)
    expect(stdout).toMatch(/^[4-9]\d\.\d % of branches \(\d+ of \d+\) rules\/$/m)
    // The simulation has no threads.
    expect(stdout).toMatch(
      /^0\.0 % of branches \(0 of \d+\) dispatch\/worker\.ts; not reached: 16 /m,
    )
  },
  COMPUTES_MS,
)

// Each broke a promise once, or found a fault that was made on purpose.
it(
  'keeps every promise in the scripts that were kept',
  () => {
    const { stdout, stderr, status } = simulate('--scripts', SEEDS)
    expect(stderr).toBe('')
    expect(stdout).toContain(`${readdirSync(SEEDS).length} seeds, `)
    expect(status).toBe(0)
  },
  COMPUTES_MS,
)

it('plants bugs whose texts are in the sources', () => {
  expect(PLANTED_BUGS).toHaveLength(54)
  expect(unmatchedChanges()).toEqual([])
})

// Each bug computes for ten seconds.
if (RUNS_ALL_CASES) {
  it(
    'finds planted bugs',
    () => {
      const only = 'refund-twice,pending-domain-used'
      const { stdout, stderr, status } = simulate('--planted', '--seeds', '3', '--only', only)
      expect(stderr).toBe('')
      expect(stdout).toMatch(/^refund-twice: seed \d+ broke "at most one refund a message"$/m)
      expect(stdout).toMatch(
        /^pending-domain-used: seed \d+ broke "only a verified domain is used"$/m,
      )
      expect(stdout).toContain('2 of 2 planted bugs found within 3 seeds')
      expect(status).toBe(0)
    },
    COMPUTES_MS,
  )
}
