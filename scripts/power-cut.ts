// Cuts the power of the service, in a model of the disk: what it writes and flushes is recorded, and what a power cut
// could leave at any moment is rebuilt, opened and held against every 201 that had been sent by then:
//
//   npm run power-cut -- [--states 2000] [--failed-flushes 500] [--served 4] [--seed n] [--quick] [--folder path] [--keep]
//
// A power cut leaves what was flushed, and of all other writes any part: none, all, up to a torn one, or sectors of 512
// bytes in any order. With `--failed-flushes` a flush of SQLite's log fails first, as on Linux: what it was to write is not
// on disk, the next process reads it from memory, and no later flush writes it. On `--served` states the built service is
// started; on all others the storage alone. A state that breaks a promise is kept in the folder, and the exit code is 1.
//
// Needs Linux and a C compiler (cc): the recorder is a library that is loaded before the C library.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { reportOf } from './power-cut/report.ts'
import { cutPower } from './power-cut/run.ts'

const { values } = parseArgs({
  options: {
    states: { type: 'string' },
    'failed-flushes': { type: 'string' },
    served: { type: 'string' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    quick: { type: 'boolean', default: false },
    folder: { type: 'string', default: tmpdir() },
    keep: { type: 'boolean', default: false },
  },
})
mkdirSync(values.folder, { recursive: true })
const folder = mkdtempSync(join(values.folder, 'svc-power-cut-'))
const seed = Number(values.seed)
console.log(`seed ${seed}, files in ${folder}`)
const options = {
  states: Number(values.states ?? (values.quick ? 60 : 2_000)),
  failed_flushes: Number(values['failed-flushes'] ?? (values.quick ? 60 : 500)),
  served: Number(values.served ?? (values.quick ? 1 : 2)),
  accepted: 200,
  seed,
  folder,
  progress: (text: string) => console.log(text),
}
// Children and scratch files go on 'exit', which is not emitted when a signal ends the process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
const from = performance.now()
const works = await cutPower('works', options)
const fails = await cutPower('fails', { ...options, seed: seed + 1 })
const seconds = (performance.now() - from) / 1_000
console.log(`\n${reportOf({ works, fails, seed, seconds })}`)
const isSound = works.broken.length + fails.broken.length === 0
if (isSound && !values.keep) rmSync(folder, { recursive: true, force: true })
process.exitCode = isSound ? 0 : 1
