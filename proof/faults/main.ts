// Injects faults around a running service under load, and checks its promises:
//
//   npm run faults [-- --list] [--only name,name] [--seed n] [--keep]
//
// The built service runs on SQLite. Messages are sent before and after each fault. Afterwards every 201 must be in
// the database, the ledger must add up, /health must have been correct, SIGTERM must end the service, and the next
// one must start. A fault that this machine cannot inject is reported as not run. Linux only.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { playFaults } from './run.ts'
import { SCENARIOS } from './scenarios.ts'

const { values } = parseArgs({
  options: {
    list: { type: 'boolean', default: false },
    only: { type: 'string' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    keep: { type: 'boolean', default: false },
  },
})
const names = values.only?.split(',') ?? SCENARIOS.map(({ name }) => name)
const unknown = names.filter((name) => !SCENARIOS.some((scenario) => scenario.name === name))
if (unknown.length > 0) throw new Error(`--only: there is no ${unknown.join(', ')}; see --list`)

if (values.list) {
  for (const { name, title } of SCENARIOS) console.log(`${name.padEnd(20)} ${title}`)
} else {
  const folder = mkdtempSync(join(tmpdir(), 'svc-faults-'))
  console.log(`seed ${values.seed}, Node ${process.version}, files in ${folder}`)
  const results: string[] = []
  let failed = 0
  let missed = 0
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      // Last: by then the service is killed and its file system unmounted.
      process.once('exit', () => {
        if (failed > 0 || values.keep) return
        rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
      })
      process.exit(130)
    })
  }
  for (const name of names) {
    const { text, outcome } = await playOne(folder, name)
    results.push(text)
    console.log(text)
    if (outcome === 'failed') failed += 1
    if (outcome === 'not run') missed += 1
  }
  console.log(`\n${results.join('\n')}`)
  console.log(
    `\n${names.length} scenarios: ${names.length - failed - missed} passed, ${failed} failed, ${missed} not run`,
  )
  if (failed === 0 && !values.keep) rmSync(folder, { recursive: true, force: true })
  process.exitCode = failed === 0 ? 0 : 1
}

async function playOne(
  parent: string,
  name: string,
): Promise<{ text: string; outcome: 'passed' | 'failed' | 'not run' }> {
  const scenario = SCENARIOS.find((each) => each.name === name)
  if (!scenario) throw new Error(name)
  const missing = scenario.missing?.() ?? null
  if (missing !== null) {
    return { text: `– ${name}: not run: ${missing}`, outcome: 'not run' }
  }
  const folder = join(parent, name)
  mkdirSync(folder)
  try {
    const { violations, accepted, seconds, notes } = await playFaults({
      scenarios: [scenario],
      seed: Number(values.seed),
      folder,
      short: false,
      progress: (text) => console.log(`  ${text}`),
    })
    const broken = violations.broken()
    const text = [
      `${broken.length === 0 ? '✓' : '✗'} ${name}: ${accepted.toLocaleString('en-US')} messages accepted, ${violations.rules()} rules, ${broken.length} broken, ${Math.round(seconds)} s`,
      ...notes.map((note) => `    ${note}`),
      ...broken.flatMap(({ rule, times, examples }) => [
        `    ✗ ${rule}: broken ${times} times`,
        ...examples.map((example) => `        ${example}`),
      ]),
    ].join('\n')
    return { text, outcome: broken.length === 0 ? 'passed' : 'failed' }
  } catch (error) {
    return { text: `✗ ${name}: ${(error as Error).message}`, outcome: 'failed' }
  }
}
