// Simulates power cuts of the service in a model of the disk. Its writes and flushes are recorded. Each state that a
// power cut could leave is rebuilt, opened and compared with every 201 before the cut:
//
//   npm run power-cut -- [--states 2000] [--failed-flushes 500] [--served 4] [--seed n] [--quick] [--folder path] [--keep]
//
// A power cut leaves the flushed data, and any part of all other writes: none, all, up to a torn one, or sectors of
// 512 bytes in any order. With `--failed-flushes` a flush of SQLite's log fails first, as on Linux: its data is not
// on disk, the next process reads it from memory, and no later flush writes it. On `--served` states the built
// service starts; on all others only the storage opens. A state that breaks a promise stays in the folder, and the
// exit code is 1.
//
// Needs Linux and a C compiler (cc): the recorder is a library that is loaded before the C library.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { cutPower, type PowerCutResult } from './run.ts'

const EXAMPLES_MAX = 5

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
// Children and scratch files are removed on 'exit', which a signal does not emit.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
const from = performance.now()
const works = await cutPower('works', options)
const fails = await cutPower('fails', { ...options, seed: seed + 1 })
const seconds = (performance.now() - from) / 1_000
console.log(`\n${reportOf({ works, fails, seed, seconds })}`)
const isSound = works.broken.length + fails.broken.length === 0
if (isSound && !values.keep) rmSync(folder, { recursive: true, force: true })
process.exitCode = isSound ? 0 : 1

/** The result on one page. */
function reportOf({
  works,
  fails,
  seed,
  seconds,
}: {
  works: PowerCutResult
  fails: PowerCutResult
  seed: number
  seconds: number
}): string {
  const count = (number: number) => number.toLocaleString('en-US')
  const line = (name: string, { states, recordings, unsettled, checked, served }: PowerCutResult) =>
    `${name}${count(states)} states of ${count(recordings)} recordings: ${count(unsettled)} with unflushed writes, ${count(checked)} look-ups of acknowledged messages, ${count(served)} served`
  const broken = [...works.broken, ...fails.broken]
  return [
    line('power cuts            ', works),
    line('after a failed flush  ', fails),
    `                      ${count(fails.failed_flushes)} flushes failed`,
    ...broken
      .slice(0, EXAMPLES_MAX)
      .flatMap(({ folder, faults }) => [
        `BROKEN  ${folder}`,
        ...faults.map((fault) => `        ${fault}`),
      ]),
    `${count(works.broken.length)} of ${count(works.states)} power cuts and ${count(fails.broken.length)} of ${count(fails.states)} after a failed flush break a promise; seed ${seed}, ${Math.round(seconds)} s`,
  ].join('\n')
}
