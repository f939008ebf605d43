/**
 * Runs the suite several times while each core is busy, and lists every test that failed at least once:
 *
 *   npm run flakes -- [--rounds 10] [--noise <busy loops>] [--nice 0] [--all-cases] [files…]
 *
 * `--noise` is the number of busy loops, by default one for each core. `--nice 10` gives the suite less time than the loops
 * get. Files are parts of paths, as for `npm test`. Exits with 1 if a test failed in a round.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'

/** The part of a report of vitest (`--reporter=json`) that this program reads. */
export interface Report {
  testResults: readonly {
    name: string
    /** The error of a file that could not be loaded. */
    message: string
    status: string
    assertionResults: readonly {
      fullName: string
      status: string
      failureMessages: readonly string[]
    }[]
  }[]
}

/** One test that failed in at least one round. */
export interface Flake {
  test: string
  rounds: number[]
  /** The first line of each different failure. A test with random input names its seed there. */
  reasons: Set<string>
}

/** Adds the failures of one round. A file that could not be loaded counts as one failed test. */
export function addFailures(flakes: Map<string, Flake>, round: number, report: Report): void {
  const add = (test: string, reason: string) => {
    const flake = flakes.get(test) ?? { test, rounds: [], reasons: new Set() }
    flakes.set(test, flake)
    flake.rounds.push(round)
    flake.reasons.add(firstLine(reason))
  }
  for (const file of report.testResults) {
    const failed = file.assertionResults.filter(({ status }) => status === 'failed')
    for (const { fullName, failureMessages } of failed) {
      add(`${file.name} > ${fullName}`, failureMessages[0] ?? '')
    }
    if (file.status === 'failed' && failed.length === 0) add(file.name, file.message)
  }
}

/** The failed tests as lines, the most frequent first. */
export function linesOf(flakes: Iterable<Flake>, rounds: number, root: string): string[] {
  return [...flakes]
    .sort((a, b) => b.rounds.length - a.rounds.length || (a.test < b.test ? -1 : 1))
    .flatMap(({ test, rounds: failed, reasons }) => [
      `${failed.length} of ${rounds} (rounds ${failed.join(', ')}): ${relativeTo(root, test)}`,
      ...[...reasons].map((reason) => `    ${reason}`),
    ])
}

function relativeTo(root: string, test: string): string {
  const [file = '', ...name] = test.split(' > ')
  return [relative(root, file), ...name].join(' > ')
}

function firstLine(reason: string): string {
  return reason.split('\n', 1)[0] as string
}

/** Runs the suite once; returns its report, or null if the run wrote none. */
async function runSuite(
  file: string,
  nice: number,
  given: readonly string[],
): Promise<Report | null> {
  const vitest = join('node_modules', 'vitest', 'vitest.mjs')
  const options = ['run', '--reporter=dot', '--reporter=json', `--outputFile.json=${file}`]
  const command = [process.execPath, vitest, ...options, ...given]
  const [program, ...rest] = nice > 0 ? ['nice', '-n', String(nice), ...command] : command
  const run = spawn(program as string, rest, { stdio: ['ignore', 'ignore', 'inherit'] })
  await once(run, 'exit')
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Report
  } catch {
    return null
  }
}

function startNoise(count: number): ChildProcess[] {
  return Array.from({ length: count }, () =>
    spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
  )
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      rounds: { type: 'string', default: '10' },
      noise: { type: 'string', default: String(availableParallelism()) },
      nice: { type: 'string', default: '0' },
      'all-cases': { type: 'boolean', default: false },
    },
  })
  const [rounds, noise, nice] = [values.rounds, values.noise, values.nice].map(Number) as [
    number,
    number,
    number,
  ]
  if (values['all-cases']) process.env.SVC_TEST_CASES = 'all'
  const folder = mkdtempSync(join(tmpdir(), 'svc-flakes-'))
  const loops = startNoise(noise)
  process.once('exit', () => {
    for (const loop of loops) loop.kill('SIGKILL')
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
  const flakes = new Map<string, Flake>()
  let broken = 0
  for (let round = 1; round <= rounds; round += 1) {
    const begun = performance.now()
    const report = await runSuite(join(folder, `${round}.json`), nice, positionals)
    if (report === null) broken += 1
    else addFailures(flakes, round, report)
    const failed = [...flakes.values()].filter((flake) => flake.rounds.includes(round)).length
    const seconds = Math.round((performance.now() - begun) / 1_000)
    const result = report === null ? 'no report' : `${failed} failed`
    console.log(`round ${round} of ${rounds}: ${result}, ${seconds} s`)
  }
  rmSync(folder, { recursive: true, force: true })
  for (const line of linesOf(flakes.values(), rounds, process.cwd())) console.log(line)
  console.log(
    `${flakes.size} tests failed in ${rounds} rounds with ${noise} busy loops, nice ${nice}`,
  )
  process.exit(flakes.size > 0 || broken > 0 ? 1 : 0)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main()
