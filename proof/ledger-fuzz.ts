// Runs random histories of the ledger and compares each step with a model and with invariants:
//
//   npm run ledger-fuzz -- [--engine memory|sqlite|postgres] [--operations 1000000] [--seed n] [--seconds n] [--folder /dev/shm]
//
// Each history has the next seed. A failure prints its seed; `--seed` with that value and `--operations 1` repeats
// it. The script starts PostgreSQL. Files go to `--folder`; in memory (/dev/shm) flushes cost nothing.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { testRuntime } from '../packages/core/test/fixtures.ts'
import { playHistory, type Tally } from '../packages/core/test/ledger/play.ts'
import {
  memorySubject,
  postgresSubject,
  type Subject,
  sqliteSubject,
} from '../packages/core/test/ledger/subjects.ts'
import { startPostgres } from './stage/postgres.ts'

/** Histories on one database, so that it does not grow without limit. */
const HISTORIES_PER_DATABASE = 500
const PROGRESS_EVERY_MS = 10_000

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: 'memory' },
    operations: { type: 'string', default: '100000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    seconds: { type: 'string', default: '0' },
    folder: { type: 'string', default: tmpdir() },
  },
})
const operationsMin = Number(values.operations)
const first = Number(values.seed)
const ends_ms = Number(values.seconds) > 0 ? Date.now() + Number(values.seconds) * 1_000 : Infinity
const began_ms = Date.now()
const folder = mkdtempSync(join(values.folder, 'svc-fuzz-'))
const tally: Tally = new Map()

/** Opens the engine for the history of `seed`, and describes the result. */
async function engineOf(name: string) {
  if (name === 'memory') {
    return { each: 1, open: async (seed: number) => memorySubject(testRuntime(`${seed}`)) }
  }
  if (name === 'sqlite') {
    const open = (seed: number) => sqliteSubject(testRuntime(`${seed}`), folder)
    return { each: HISTORIES_PER_DATABASE, open }
  }
  if (name !== 'postgres') throw new Error(`unknown engine ${name}`)
  Object.assign(process.env, { TMPDIR: values.folder })
  const server = await startPostgres()
  const open = (seed: number) => postgresSubject(testRuntime(`${seed}`), server.url)
  return { each: Infinity, open, stop: server.stop }
}

const engine: Awaited<ReturnType<typeof engineOf>> & { stop?: () => Promise<void> } =
  await engineOf(values.engine)
let subject: Subject | null = null
let operations = 0
let histories = 0
let reported_ms = began_ms

function report(): string {
  const seconds = (Date.now() - began_ms) / 1_000
  const rate = Math.round(operations / seconds)
  return `${values.engine}: ${operations} operations in ${histories} histories, ${seconds.toFixed(1)} s, ${rate} a second`
}

try {
  while (operations < operationsMin && Date.now() < ends_ms) {
    if (histories % engine.each === 0) {
      await subject?.close()
      subject = await engine.open(first + histories)
    }
    if (!subject) throw new Error('no engine was opened')
    operations += await playHistory(subject, first + histories, tally)
    histories += 1
    if (Date.now() - reported_ms > PROGRESS_EVERY_MS) {
      reported_ms = Date.now()
      console.log(report())
    }
  }
  const kinds = [...tally].sort(([, a], [, b]) => b - a).map(([kind, count]) => `${kind} ${count}`)
  console.log(`${report()}, seeds ${first} to ${first + histories - 1}: no fault`)
  console.log(kinds.join(', '))
} catch (error) {
  console.error(`${report()}\nFAULT in the ${(error as Error).message}`)
  console.error(
    `again: npm run ledger-fuzz -- --engine ${values.engine} --operations 1 --seed ${first + histories}`,
  )
  process.exitCode = 1
} finally {
  await subject?.close()
  await engine.stop?.()
  rmSync(folder, { recursive: true, force: true })
}
