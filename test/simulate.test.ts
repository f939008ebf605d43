import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { bundleSimulation } from '../proof/simulate/bundle.ts'
import { unmatchedChanges } from '../proof/simulate/planted.ts'
import { PLANTED_BUGS } from '../proof/simulate/planted-bugs.ts'
import { RUNS_ALL_CASES } from './all-cases.ts'

const SEEDS = fileURLToPath(new URL('seeds', import.meta.url))

/** For machines that do other work; without it, the seeds and scripts of a process compute for a quarter of this time. */
const COMPUTES_MS = 180_000

// The simulation replaces the clock of its process.
function simulate(...command: string[]) {
  return spawnSync(process.execPath, command, { encoding: 'utf8' })
}

const SOURCES = ['--conditions=source', '--import', 'tsx', 'proof/simulate/run.ts']

/** `npm run simulate` runs more. */
const SEEDS_NOW = RUNS_ALL_CASES ? 4 : 1

// Each kept script broke a promise once, or found a fault that was made on purpose.
it(
  'keeps every promise in a simulated world and in the kept scripts, and the same seed has the same trace',
  async () => {
    const bundle = await bundleSimulation()
    const { stdout, stderr, status } = simulate(
      bundle,
      '--scripts',
      SEEDS,
      '--seed',
      '2',
      '--seeds',
      `${SEEDS_NOW}`,
      '--twice',
    )
    expect(stderr).toBe('')
    const count = readdirSync(SEEDS).length + SEEDS_NOW
    expect(stdout).toMatch(
      new RegExp(`^${count} seeds, \\d+ operations, \\d+ faults, 0 broken;`, 'm'),
    )
    expect(status).toBe(0)
  },
  COMPUTES_MS,
)

it('plants bugs whose texts are in the sources', () => {
  expect(PLANTED_BUGS).toHaveLength(56)
  expect(unmatchedChanges()).toEqual([])
})

if (RUNS_ALL_CASES) {
  it(
    'shows the branches of the rules that ran',
    () => {
      const { stdout, stderr, status } = simulate(...SOURCES, '--seeds', '1', '--coverage')
      expect(stderr).toBe('')
      expect(status).toBe(0)
      expect(stdout).toMatch(/^[4-9]\d\.\d % of branches \(\d+ of \d+\) rules\/$/m)
      // The simulation has no threads.
      expect(stdout).toMatch(
        /^0\.0 % of branches \(0 of \d+\) dispatch\/worker\.ts; out of reach: \d+; not reached: $/m,
      )
    },
    COMPUTES_MS,
  )

  it(
    'finds planted bugs',
    () => {
      const only = 'refund-twice,pending-domain-used'
      const { stdout, stderr, status } = simulate(
        ...SOURCES,
        '--planted',
        '--seeds',
        '3',
        '--only',
        only,
      )
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
