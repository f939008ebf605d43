// Breaks the code in many small ways, one at a time, and counts the ways that its tests notice:
//
//   npm run mutants -- [--areas rules,dispatch] [--count 120] [--seed 1] [--only text] [--least 90]
//
// `--count` mutants of each area are chosen by `--seed` from all that Stryker's instrumenter generates. Prints those that
// no test notices. Exits with 1 if less than `--least` percent of an area are noticed.

import { parseArgs } from 'node:util'
import { startPostgres } from '../stage/postgres.ts'
import { AREAS } from './areas.ts'
import { runArea } from './run.ts'

const { values } = parseArgs({
  options: {
    areas: { type: 'string', default: AREAS.map(({ name }) => name).join(',') },
    count: { type: 'string', default: '120' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e6)) },
    only: { type: 'string', default: '' },
    least: { type: 'string', default: '90' },
  },
})
const names = values.areas.split(',')
const unknown = names.filter((name) => !AREAS.some((area) => area.name === name))
if (unknown.length > 0) throw new Error(`unknown areas: ${unknown.join(', ')}`)
const seed = Number(values.seed)
console.log(`seed ${seed}`)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))
const server = await startPostgres()
try {
  for (const area of AREAS.filter(({ name }) => names.includes(name))) {
    const began_ms = Date.now()
    const { only } = values
    const fates = await runArea(area, {
      count: Number(values.count),
      seed,
      only,
      postgres_url: server.url,
      onUnsound(text) {
        console.log(text)
        process.exitCode = 1
      },
    })
    const survivors = fates.filter(({ by }) => by === null)
    for (const { mutant, is_passed } of survivors) {
      const { file, line, original, replacement } = mutant
      const change = `${oneLine(original)}  =>  ${oneLine(replacement)}`
      console.log(`${file}:${line}  ${change}${is_passed ? '' : '  (no test runs it)'}`)
    }
    const noticed = fates.length - survivors.length
    const percent = (100 * noticed) / fates.length
    const seconds = Math.round((Date.now() - began_ms) / 1_000)
    const late = fates.filter(({ by }) => by === 'its time').length
    console.log(
      `${area.name}: ${noticed} of ${fates.length} noticed (${percent.toFixed(1)} %), ${late} of them by their time; ${seconds} s`,
    )
    if (!(percent >= Number(values.least))) process.exitCode = 1
  }
} finally {
  await server.stop()
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').slice(0, 100)
}
