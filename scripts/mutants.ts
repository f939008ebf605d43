// Breaks a copy of the code deliberately, one change at a time, and requires that the named test fails:
//
//   npm run mutants -- [--first] [--only text]
//
// `--first` runs only the mutants that `npm test` runs too; `--only` those whose name contains the text. Exits with 1
// if a mutant survives, or if the list no longer matches the code.

import { parseArgs } from 'node:util'
import { startPostgres } from '../packages/core/test/postgres-server.ts'
import { FIRST, MORE } from './mutants/list.ts'
import { runMutants } from './mutants/run.ts'

const { values } = parseArgs({
  options: { first: { type: 'boolean', default: false }, only: { type: 'string', default: '' } },
})
const chosen = (values.first ? FIRST : [...FIRST, ...MORE]).filter(({ name }) =>
  name.includes(values.only),
)
const server = chosen.some(({ postgres }) => postgres) ? await startPostgres() : null
try {
  const fates = await runMutants(chosen, {
    postgresUrl: server?.url ?? null,
    onFate({ mutant, outcome, seconds, output }) {
      console.log(`${outcome.padEnd(9)} ${seconds.toFixed(1).padStart(5)} s  ${mutant.name}`)
      if (outcome !== 'noticed') console.log(`  by ${mutant.test.file}: ${mutant.test.name}`)
      if (outcome === 'unclear') console.log(output)
    },
  })
  const noticed = fates.filter(({ outcome }) => outcome === 'noticed').length
  console.log(`${noticed} of ${fates.length} noticed`)
  if (noticed < fates.length || fates.length === 0) process.exitCode = 1
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
} finally {
  await server?.stop()
}
