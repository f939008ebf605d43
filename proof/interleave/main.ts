// Explores the orders in which the statements of two or three servers reach PostgreSQL:
//
//   npm run interleave -- [--random 2000] [--per-pair 100] [--preemptions 1] [--seed n] [--only cancel] [--trace]
//
// Each pair of operations first runs in up to `--per-pair` orders with at most so many preemptions (switches from a server
// that could go on), depth first. Then two or three operations run in random orders, most of them with a fault at one
// statement: a serialization failure, a deadlock, or a connection that is lost before or after the server ran it. After
// each order a server works until nothing waits, and all rules must hold. An order that breaks a rule is printed with its
// statements, and the exit code is 1.

import { parseArgs } from 'node:util'
import { startPostgres } from '../stage/postgres.ts'
import { interleave } from './run.ts'
import { OPERATIONS } from './scenarios.ts'

const { values } = parseArgs({
  options: {
    random: { type: 'string', default: '2000' },
    'per-pair': { type: 'string', default: '100' },
    preemptions: { type: 'string', default: '1' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    only: { type: 'string' },
    trace: { type: 'boolean', default: false },
  },
})
const { only, trace } = values
if (only !== undefined && !(only in OPERATIONS)) {
  console.error(`no operation ${only}; there are: ${Object.keys(OPERATIONS).join(', ')}`)
  process.exit(2)
}
const seed = Number(values.seed)
const PROGRESS_MS = 10_000
const began = performance.now()
let orders = 0
let shown = began
const postgres = await startPostgres()
const result = await interleave(await postgres.create('interleave'), {
  seed,
  per_pair: Number(values['per-pair']),
  preemptions: Number(values.preemptions),
  random_orders: Number(values.random),
  only,
  onOrder(text, faults) {
    orders++
    if (trace || faults.length > 0) console.log(`${text}\n`)
    if (performance.now() - shown < PROGRESS_MS) return
    shown = performance.now()
    console.log(`${orders} orders, ${((orders / (shown - began)) * 1000).toFixed(0)} a second…`)
  },
})
await postgres.stop()
const seconds = Math.round((performance.now() - began) / 1000)
console.log(
  `seed ${seed}: ${result.systematic} orders of pairs and ${result.random} random orders with ${result.statements} statements in ${seconds} s; ` +
    `${result.blocked} waits for locks, ${result.refused} refused operations, ${result.violations.length} violations`,
)
process.exitCode = result.violations.length > 0 ? 1 : 0
