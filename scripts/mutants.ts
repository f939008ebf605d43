// Breaks a copy of the code on purpose, one way at a time, and demands that the named test notices:
//
//   npm run mutants -- [--first] [--only text]
//
// `--first` takes those alone that `npm test` runs too; `--only` those whose name has the text. It ends with 1 where one
// survives, or where the list no longer fits the code.

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
