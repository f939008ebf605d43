import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Mutant } from './list.ts'
import { breakTree, copyTree, vitestOf, writeSettings } from './tree.ts'

/** The result of one mutant. */
export interface Fate {
  mutant: Mutant
  /** `noticed`: its test failed. `survived`: it passed. `unclear`: it did not run. */
  outcome: 'noticed' | 'survived' | 'unclear'
  seconds: number
  /** The output, if the result is unclear. */
  output: string
}

interface Ran {
  failed: number
  passed: number
  output: string
}

/**
 * Applies one mutant after the other to a copy of the repository, runs the test that must fail, and restores the
 * copy. First, each of these tests must pass on the unchanged copy.
 * @throws Error when the list is out of date: a missing text, or a test that is missing or fails without a mutant.
 */
export async function runMutants(
  mutants: readonly Mutant[],
  { postgresUrl, onFate = () => {} }: { postgresUrl: string | null; onFate?: (fate: Fate) => void },
): Promise<Fate[]> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-mutants-'))
  try {
    copyTree(folder)
    writeSettings(folder, postgresUrl)
    for (const mutant of mutants) breakTree(folder, mutant)()
    await assertSound(folder, mutants)
    const fates: Fate[] = []
    for (const mutant of mutants) {
      const fate = await fateOf(folder, mutant)
      onFate(fate)
      fates.push(fate)
    }
    return fates
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function assertSound(folder: string, mutants: readonly Mutant[]): Promise<void> {
  for (const file of new Set(mutants.map(({ test }) => test.file))) {
    const those = mutants.filter(({ test }) => test.file === file)
    const names = [...new Set(those.map(({ test }) => test.name))]
    const { failed, passed, output } = await runTests(folder, file, names)
    if (failed > 0 || passed < names.length) {
      const summary = `${file}: ${passed} passed and ${failed} failed, of ${names.length} names`
      throw new Error(`the tests fail without a mutant\n${summary}\n${output}`)
    }
  }
}

async function fateOf(folder: string, mutant: Mutant): Promise<Fate> {
  const began_ms = Date.now()
  const mend = breakTree(folder, mutant)
  try {
    const { failed, passed, output } = await runTests(folder, mutant.test.file, [mutant.test.name])
    const seconds = (Date.now() - began_ms) / 1_000
    const outcome = failed > 0 ? 'noticed' : passed > 0 ? 'survived' : 'unclear'
    return { mutant, outcome, seconds, output }
  } finally {
    mend()
  }
}

/** Runs the tests with these names, and counts passed and failed ones. */
async function runTests(folder: string, file: string, names: readonly string[]): Promise<Ran> {
  const report = join(folder, 'report.json')
  rmSync(report, { force: true })
  const pattern = names.map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|')
  const options = ['--reporter=json', `--outputFile=${report}`, '--root', folder, '-t', pattern]
  // Without the environment of the tests that started this process.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(VITEST|TEST$|NODE_ENV$)/.test(name)),
  )
  const child = spawn(process.execPath, [vitestOf(), 'run', file, ...options], { cwd: folder, env })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk
    })
  }
  await once(child, 'close')
  try {
    const { numFailedTests, numPassedTests } = JSON.parse(readFileSync(report, 'utf8'))
    return { failed: numFailedTests, passed: numPassedTests, output }
  } catch {
    return { failed: 0, passed: 0, output }
  }
}
