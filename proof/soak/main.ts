// Runs the built service under a steady load for a long time, and checks for growth:
//
//   npm run soak -- [--minutes 120] [--rate 50] [--seed n] [--postgres] [--keep]
//
// It fails when memory, descriptors, threads, the write-ahead log or the p99 of sends exceed their limits
// (proof/soak/report.ts), on an unexpected answer, on an error in the log, and when the stored data differs from
// the answers to clients. Ctrl+C ends the run early with its report. Linux only: it reads /proc.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { reportOf } from './report.ts'
import { soak } from './run.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '120' },
    rate: { type: 'string', default: '50' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    postgres: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
  },
})
const minutes = Number(values.minutes)
const rate = Number(values.rate)
if (!(minutes > 0 && rate > 0)) throw new Error('--minutes and --rate must be above 0')
const folder = mkdtempSync(join(tmpdir(), 'svc-soak-'))
const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
console.log(
  `${minutes} minutes, ${rate} requests/s, seed ${values.seed}, ${values.postgres ? 'PostgreSQL' : 'SQLite'}, Node ${process.version}, files in ${folder}`,
)

const result = await soak({
  minutes,
  rate,
  seed: Number(values.seed),
  folder,
  postgres: values.postgres,
  signal: stop.signal,
  progress: (text) => console.log(`${new Date().toISOString()} ${text}`),
})
const { text, isSound } = reportOf(result)
console.log(`\n${text}`)
if (isSound && !values.keep) rmSync(folder, { recursive: true, force: true })
process.exitCode = isSound ? 0 : 1
