// Explores the orders in which the statements of two or three servers reach PostgreSQL:
//
//   npm run interleave -- [--random 2000] [--per-pair 100] [--preemptions 1] [--lanes 4] [--seed n] [--only cancel[,grant]] [--trace]
//
// Each pair of operations first runs in up to `--per-pair` orders with at most so many preemptions (switches from a server
// that could go on), depth first. Then two or three operations run in random orders, most of them with a fault at one
// statement: a serialization failure, a deadlock, or a connection that is lost before or after the server ran it. After
// each order a server works until nothing waits, and all rules must hold. An order that breaks a rule is printed with its
// statements, and the exit code is 1. `--only` names the first operation of each pair, or both. `--lanes` orders run at the same time, each on a database of its own with the seed
// `--seed` plus its number.

import { existsSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { startPostgres } from '../stage/postgres.ts'
import { type InterleaveResult, interleave, type Pair } from './run.ts'
import { OPERATIONS } from './scenarios.ts'

const { values } = parseArgs({
  options: {
    random: { type: 'string', default: '2000' },
    'per-pair': { type: 'string', default: '100' },
    preemptions: { type: 'string', default: '1' },
    lanes: { type: 'string', default: '4' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    only: { type: 'string' },
    trace: { type: 'boolean', default: false },
  },
})
const { only, trace } = values
const names = Object.keys(OPERATIONS)
const [first, second] = only?.split(',') ?? []
const unknown = [first, second].find((name) => name !== undefined && !names.includes(name))
if (unknown !== undefined) {
  console.error(`no operation ${unknown}; there are: ${names.join(', ')}`)
  process.exit(2)
}
const partners = second === undefined ? names : [second]
const pairs = first === undefined ? undefined : partners.map((name): Pair => [first, name])
const seed = Number(values.seed)
const PROGRESS_MS = 10_000
const began = performance.now()
let orders = 0
let broken = 0
let shown = began
// Flushes to memory are free. Nothing here checks that they are made.
if (!process.env.TMPDIR && existsSync('/dev/shm')) process.env.TMPDIR = '/dev/shm'
const postgres = await startPostgres()
const lanes = Number(values.lanes)
// A lane waits for the database most of the time.
const results = await Promise.all(
  Array.from({ length: lanes }, async (_, index) =>
    interleave(await postgres.create(`interleave_${index}`), {
      seed: seed + index,
      part: { index, count: lanes },
      per_pair: Number(values['per-pair']),
      preemptions: Number(values.preemptions),
      random_orders: Math.ceil(Number(values.random) / lanes),
      pairs,
      onOrder(text, faults) {
        orders++
        if (faults.length > 0) broken++
        if (trace || faults.length > 0) console.log(`${text}\n`)
        if (performance.now() - shown < PROGRESS_MS) return
        shown = performance.now()
        const rate = ((orders / (shown - began)) * 1000).toFixed(0)
        console.log(`${orders} orders, ${broken} violations, ${rate} a second…`)
      },
    }),
  ),
)
await postgres.stop()
const sum = (pick: (result: InterleaveResult) => number) =>
  results.reduce((total, each) => total + pick(each), 0)
const violations = sum((each) => each.violations.length)
const seconds = Math.round((performance.now() - began) / 1000)
console.log(
  `seed ${seed}: ${sum((each) => each.systematic)} orders of pairs and ${sum((each) => each.random)} random orders ` +
    `with ${sum((each) => each.statements)} statements in ${seconds} s; ${sum((each) => each.blocked)} waits for locks, ` +
    `${sum((each) => each.refused)} refused operations, ${violations} violations`,
)
process.exitCode = violations > 0 ? 1 : 0
