// Kills the service repeatedly under load, and then checks all its promises:
//
//   npm run crash -- [--postgres] [--cycles 50] [--seed n] [--standstill 40] [--entry server.ts] [--keep]
//
// With `--postgres` two servers share a PostgreSQL that the script starts. Each round kills a server, kills, restarts
// or stops (for `--standstill` seconds) the database, or cuts connections.
//
// Without `--conditions=source` the built packages run. SIGKILL leaves the operating system alive, so it shows what a
// crash of the process loses. It does not simulate power cuts: a commit that was never flushed survives.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { reportOf } from './report.ts'
import { crash } from './run.ts'

const { values } = parseArgs({
  options: {
    postgres: { type: 'boolean', default: false },
    standstill: { type: 'string', default: '40' },
    cycles: { type: 'string', default: '50' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    entry: { type: 'string' },
    keep: { type: 'boolean', default: false },
  },
})
const seed = Number(values.seed)
const folder = mkdtempSync(join(tmpdir(), 'svc-crash-'))
console.log(`seed ${seed}, files in ${folder}`)

const result = await crash({
  cycles: Number(values.cycles),
  seed,
  folder,
  node_args: process.execArgv,
  ...(values.entry && { entry: resolve(values.entry) }),
  patient: true,
  ...(values.postgres && { postgres: { standstill_ms: Number(values.standstill) * 1_000 } }),
  progress: (text) => console.log(text),
})
console.log(`\n${reportOf(result)}`)
const isSound = result.violations.broken().length === 0
if (isSound && !values.keep) rmSync(folder, { recursive: true, force: true })
process.exitCode = isSound ? 0 : 1
