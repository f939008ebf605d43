// Ends the primary of a PostgreSQL pair under load, round by round, and checks all promises of the service:
//
//   npm run failover -- [--patroni] [--rounds 100] [--judge-every 10] [--seed n] [--keep]
//
// A round kills the primary, freezes it (SIGSTOP), or cuts it off from the service, promotes the synchronous standby, and measures the
// time until the first 201. The old primary then comes back for a moment as if it had not been replaced, and becomes the
// next standby. With `--patroni` the pair is run by Patroni of the Debian packages, which notices that the primary is killed or frozen,
// promotes, and makes the old primary the next standby. After `--judge-every` rounds the callers stop, everything ends, and the rules of `npm run
// crash` are checked; the next rounds begin with a new pair. Ctrl+C ends the run after the present round, which is judged; Ctrl+C again
// ends it at once. The exit code is 1 if a rule is broken; `--keep` keeps the logs of the servers in any case.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { idsAnswered } from '../crash/operations.ts'
import { type CrashResult, crash } from '../crash/run.ts'
import { ANSWER_MAX_MS, type Fault } from '../crash/stage.ts'
import { markdownOf } from '../stage/table.ts'
import { RECOVERY_MAX_MS } from './stage.ts'

/** The pause of each of the 64 callers after an answer, so that a small machine measures failovers and not its own load. */
const REST_MS = 200

const { values } = parseArgs({
  options: {
    patroni: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '100' },
    'judge-every': { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    keep: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
const [rounds, every, seed] = [values.rounds, values['judge-every'], values.seed].map(Number) as [
  number,
  number,
  number,
]
if (values.help || !(rounds > 0 && every > 0)) {
  console.log(
    'usage: npm run failover -- [--patroni] [--rounds 100] [--judge-every 10] [--seed n] [--keep]\n\nEnds a PostgreSQL primary under load, promotes its synchronous standby, and checks the promises of the service.',
  )
  process.exit(values.help ? 0 : 2)
}

const faults: Fault[] = []
const sums = { acknowledged: 0, unanswered: 0, called: 0, called_again: 0 }
let broken = 0
let isStopping = false
let stopping_at = 0
process.on('SIGINT', () => {
  // npm passes on the signal that this process got from the terminal too.
  if (isStopping && performance.now() - stopping_at > 1_000) process.exit(130)
  if (!isStopping) stopping_at = performance.now()
  isStopping = true
})
console.log(`seed ${seed}`)
for (let done = 0; done < rounds && !isStopping; done += every) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-failover-'))
  const result = await crash({
    cycles: Math.min(every, rounds - done),
    seed: seed + done,
    folder,
    node_args: process.execArgv,
    patient: false,
    rest_ms: REST_MS,
    failover: { has_patroni: values.patroni },
    isStopping: () => isStopping,
    progress: (text) => console.log(`${new Date().toISOString()} ${text}`),
  })
  faults.push(...result.faults)
  const isSound = judge(result, folder)
  if (isSound && !values.keep) rmSync(folder, { recursive: true, force: true })
}
console.log(
  `\n${markdownOf([
    ['fault', 'rounds', 'first 201, s: median', 'longest', 'all servers, s: median', 'longest'],
    ...[...new Set(faults.map(({ kind }) => kind))].sort().map(rowOf),
  ]).join('\n')}\n`,
)
console.log(
  `${faults.length} rounds, ${sums.acknowledged} messages with a 201, ${sums.unanswered} operations without an answer; ` +
    `the provider got ${sums.called} messages, ${sums.called_again} of them again; ${broken} violations`,
)
console.log(
  `bounds: ${RECOVERY_MAX_MS / 1_000} s until each server gives a 201, ${ANSWER_MAX_MS / 1_000} s for an answer; the slowest answer took ` +
    `${(Math.max(0, ...faults.map(({ slowest_ms }) => slowest_ms)) / 1_000).toFixed(1)} s`,
)
process.exitCode = broken === 0 ? 0 : 1

/** Adds a part of the rounds to the sums, and prints the rules that it broke. */
function judge({ evidence, violations }: CrashResult, folder: string): boolean {
  const { operations, calls } = evidence
  const times = [...(calls ?? new Map<string, number>()).values()]
  const unanswered = operations.filter((each) => idsAnswered(each).length === 0)
  sums.acknowledged += operations.flatMap(idsAnswered).length
  sums.unanswered += unanswered.filter(({ tries }) =>
    tries.some(({ outcome }) => outcome === 'info'),
  ).length
  sums.called += times.length
  sums.called_again += times.filter((each) => each > 1).length
  const found = violations.broken()
  for (const each of found) {
    broken += each.times
    console.log(`BROKEN ${each.times} times: ${each.rule}`)
    for (const example of each.examples) console.log(`  ${example}`)
  }
  if (found.length > 0) console.log(`the output of the servers is in ${folder}`)
  else console.log(`${sums.acknowledged} messages with a 201, all ${violations.rules()} rules hold`)
  return found.length === 0
}

function rowOf(kind: string): string[] {
  const all = faults.filter((each) => each.kind === kind)
  const seconds = (pick: (fault: Fault) => number | undefined) => {
    const sorted = all.map((each) => (pick(each) ?? 0) / 1_000).sort((a, b) => a - b)
    return [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)].map((each = 0) => each.toFixed(1))
  }
  const [first, everywhere] = [seconds(({ first_ms }) => first_ms), seconds(({ all_ms }) => all_ms)]
  return [kind, `${all.length}`, ...first, ...everywhere]
}
