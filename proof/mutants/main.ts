// Breaks the code in many small ways, one at a time, and counts the ways that its tests notice:
//
//   npm run mutants -- [--areas rules,dispatch] [--count 110] [--seed 1] [--only text] [--least 90]
//
// `--count` mutants of each area are chosen by `--seed` from all that Stryker's instrumenter generates. Prints those that
// no test notices. Exits with 1 if less than `--least` percent of an area are noticed. Two areas run at once.

import { parseArgs } from 'node:util'
import { startPostgres } from '../stage/postgres.ts'
import { AREAS } from './areas.ts'
import { reportOf, runArea } from './run.ts'

/** Each area has one process that computes. */
const AT_ONCE = 2

const { values } = parseArgs({
  options: {
    areas: { type: 'string', default: AREAS.map(({ name }) => name).join(',') },
    count: { type: 'string', default: '110' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e6)) },
    only: { type: 'string', default: '' },
    least: { type: 'string', default: '90' },
  },
})
const names = values.areas.split(',')
const unknown = names.filter((name) => !AREAS.some((area) => area.name === name))
if (unknown.length > 0) throw new Error(`unknown areas: ${unknown.join(', ')}`)
const { only } = values
const count = Number(values.count)
const seed = Number(values.seed)
console.log(`seed ${seed}`)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))
const server = await startPostgres()
const waiting = AREAS.filter(({ name }) => names.includes(name))
try {
  await Promise.all(Array.from({ length: AT_ONCE }, runAreas))
} finally {
  await server.stop()
}

/** Runs one area after the other, until none is left, and prints the results of each when it ends. */
async function runAreas(): Promise<void> {
  for (let area = waiting.shift(); area; area = waiting.shift()) {
    const began_ms = Date.now()
    const unsound: string[] = []
    const onUnsound = (text: string) => unsound.push(text)
    const options = { count, seed, only, postgres_url: server.url, onUnsound }
    const { lines, percent } = reportOf(area, await runArea(area, options))
    const seconds = Math.round((Date.now() - began_ms) / 1_000)
    console.log(`${[...unsound, ...lines].join('\n')}; ${seconds} s`)
    if (unsound.length > 0 || !(percent >= Number(values.least))) process.exitCode = 1
  }
}
