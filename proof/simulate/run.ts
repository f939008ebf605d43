// Runs the service in a simulated world, seed by seed:
//
//   npm run simulate -- [--seeds 100] [--seed 1] [--twice] [--trace] [--shrink] [--coverage]
//   npm run simulate -- --scripts test/seeds [--seeds 100] [--trace]
//   npm run simulate -- --planted [--seeds 100] [--seed 1] [--only name,name]
//
// --seed is the first seed. --shrink reduces the script of a seed that broke a promise; --scripts runs such scripts, and then the seeds, if --seeds is given. --twice runs each seed a second time, and the trace must be the same. --trace prints what
// happened. --planted runs the seeds with each of the bugs of planted-bugs.ts. --coverage prints the share of the branches of the rules and the dispatch that ran. Exits with 1 when a promise was broken.

import { readdirSync, readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { scriptOf } from './passages.ts'
import type { Timed } from './script.ts'
import type { SeedResult } from './seed.ts'

/** Without `--seeds`. */
const SEEDS = '100'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string' },
    seed: { type: 'string', default: '1' },
    twice: { type: 'boolean', default: false },
    trace: { type: 'boolean', default: false },
    shrink: { type: 'boolean', default: false },
    scripts: { type: 'string' },
    planted: { type: 'boolean', default: false },
    coverage: { type: 'boolean', default: false },
    only: { type: 'string' },
  },
})
if (values.planted) {
  const { runPlanted } = await import('./planted.ts')
  const seeds = Number(values.seeds ?? SEEDS)
  const all = await runPlanted({ seeds, first: Number(values.seed), only: values.only })
  process.exit(all ? 0 : 1)
}
// The clock is replaced before all else, and not for the planted bugs, which run in processes of their own.
const { realMs } = await import('./clock.ts')
const coverage = values.coverage ? await import('./coverage.ts') : null
await coverage?.startCoverage()
const { runSeed, shrink } = await import('./seed.ts')

/** After so many, the cause is more urgent than the next. */
const BROKEN_MAX = 3
const SHOWN_LINES = 30
const SHOW_EVERY_MS = 10_000

const began_ms = realMs()
let shown_ms = began_ms
const cpu = process.cpuUsage()
const totals = new Map<string, number>()
const sum = { seeds: 0, operations: 0, faults: 0, broken: 0 }

for (const { seed, script } of chosen()) {
  if (sum.broken >= BROKEN_MAX) break
  const result = await runSeed(seed, script)
  const again = values.twice ? await runSeed(seed, script) : result
  note(result)
  if (values.trace) console.log(result.lines.join('\n'))
  if (values.trace || values.twice) console.log(`seed ${seed}: ${result.hash}`)
  if (result.violation) await reportBroken(result, script)
  else if (again.hash !== result.hash) {
    sum.broken += 1
    console.log(`seed ${seed} is not deterministic: ${result.hash}, then ${again.hash}`)
    const line = result.lines.findIndex((text, i) => text !== again.lines[i])
    console.log(`line ${line}: ${result.lines[line]}\n   not  ${again.lines[line]}`)
  }
  if (realMs() - shown_ms < SHOW_EVERY_MS) continue
  shown_ms = realMs()
  console.log(`until seed ${seed}: ${perSecond(shown_ms - began_ms)}`)
}

const { user, system } = process.cpuUsage(cpu)
const counts = [...totals].sort(([a], [b]) => (a < b ? -1 : 1))
console.log(counts.map(([kind, count]) => `${kind} ${count}`).join(', '))
console.log(
  `${sum.seeds} seeds, ${sum.operations} operations, ${sum.faults} faults, ${sum.broken} broken; ` +
    `${perSecond(realMs() - began_ms)}, ${perSecond((user + system) / 1000)} of CPU`,
)
if (coverage) console.log(coverage.coverageText(await coverage.readCoverage()))
process.exitCode = sum.broken > 0 ? 1 : 0

/** A script that was kept, or one that follows from its seed. */
interface Chosen {
  seed: number
  script: readonly Timed[]
}

function* chosen(): Iterable<Chosen> {
  for (const name of values.scripts ? readdirSync(values.scripts).sort() : []) {
    yield JSON.parse(readFileSync(`${values.scripts}/${name}`, 'utf8')) as Chosen
  }
  const first = Number(values.seed)
  const count = Number(values.seeds ?? (values.scripts ? 0 : SEEDS))
  for (let seed = first; seed < first + count; seed++) yield { seed, script: scriptOf(seed) }
}

function note({ operations, faults, counted }: SeedResult): void {
  sum.seeds += 1
  sum.operations += operations
  sum.faults += faults
  for (const [kind, count] of counted) totals.set(kind, (totals.get(kind) ?? 0) + count)
}

function perSecond(ms: number): string {
  return `${((sum.seeds * 1000) / ms).toFixed(2)} seeds/s`
}

async function reportBroken(
  { seed, violation, lines }: SeedResult,
  script: readonly Timed[],
): Promise<void> {
  sum.broken += 1
  if (violation === null) return
  console.log(`seed ${seed} broke "${violation.invariant}": ${violation.message}`)
  if (!values.trace) console.log(lines.slice(-SHOWN_LINES).join('\n'))
  console.log(`replay it: npm run simulate -- --seed ${seed} --seeds 1 --trace`)
  if (!values.shrink) return
  const shortest = await shrink(seed, script, violation.invariant)
  const steps = shortest.map((step) => `    ${JSON.stringify(step)}`).join(',\n')
  console.log('the shortest script, to keep in test/seeds:')
  console.log(`{\n  "seed": ${seed},\n  "script": [\n${steps}\n  ]\n}`)
}
