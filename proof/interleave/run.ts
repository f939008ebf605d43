import { verifyLedger } from '../../packages/core/src/maintenance/ledger/verify-ledger.ts'
import { systemRuntime } from '../../packages/core/src/runtime/runtime.ts'
import { openPostgres } from '../../packages/core/src/storage/postgres/postgres.ts'
import { connectTo } from '../stage/postgres.ts'
import { randomFrom } from '../stage/random.ts'
import { sceneCopies } from './copies.ts'
import { type Chooser, exhaustive, type LocksOf, randomly, runOrder } from './explore.ts'
import { openGate } from './gate.ts'
import { drain, faultsIn, OPERATIONS, type Server, serverOn } from './scenarios.ts'

const SERVERS = 3

/** The server looks for a deadlock after this time; the default of 1 s would be most of the time of a run. */
const DEADLOCK = '10ms'

export type Pair = readonly [string, string]

/** `svc ledger verify` looks at the rows once in so many orders, and after the last. */
const VERIFY_EVERY = 250

export interface InterleaveOptions {
  seed: number
  /** The maximum number of systematic orders of each pair, and of switches between its servers in an order. */
  per_pair: number
  preemptions: number
  /** The number of random orders of two or three operations. */
  random_orders: number
  /** The pairs of operations; default: all. */
  pairs?: readonly Pair[] | undefined
  /** Explores the pairs whose number, modulo `count`, is `index`; default: all. */
  part?: { index: number; count: number } | undefined
  /** Called with the text of each order, or of those that break a rule. */
  onOrder?: ((text: string, faults: readonly string[]) => void) | undefined
}

export interface InterleaveResult {
  /** Orders of pairs, and random orders. */
  systematic: number
  random: number
  statements: number
  /** How often a statement waited for a lock. */
  blocked: number
  /** Operations that were refused: the caller got an error, and may try again. */
  refused: number
  /** Each order that broke a rule. */
  violations: string[]
}

/** Explores orders on an empty database of which the user is a superuser. */
export async function interleave(
  database_url: string,
  options: InterleaveOptions,
): Promise<InterleaveResult> {
  const { seed, per_pair, preemptions, random_orders, part, onOrder = () => {} } = options
  const result = { systematic: 0, random: 0, statements: 0, blocked: 0, refused: 0 }
  const violations: string[] = []
  const random = randomFrom(seed)
  const control = await connectTo(database_url)
  const { rows } = await control.query('select quote_ident(current_database()) as name')
  await control.query(`alter database ${rows[0]?.name} set deadlock_timeout = '${DEADLOCK}'`)
  const open = async (url: string, name: string) =>
    serverOn(await openPostgres(url, systemRuntime(), { clock: 'caller' }), `${name} of ${seed}`)
  const calm = await open(database_url, 'calm')
  const gates = await Promise.all(Array.from({ length: SERVERS }, () => openGate(control)))
  const servers: Server[] = []
  for (const [i, gate] of gates.entries()) servers.push(await open(gate.url, `server ${i}`))
  const all = [calm, ...servers]
  const nextScene = await sceneCopies(calm, control)
  const locksOf: LocksOf = async (pids) => {
    const waiting = await control.query({
      name: 'locks',
      text: 'select pid from pg_locks where not granted and pid = any($1)',
      values: [pids],
    })
    return new Set(waiting.rows.map(({ pid }) => pid as number))
  }

  /** The server learns of a lost connection a moment later, and its transaction holds its locks until then. */
  async function sessionsEnd(): Promise<void> {
    const open = await control.query({
      name: 'open_transactions',
      text: `select 1 from pg_stat_activity where datname = current_database() and xact_start is not null
             and backend_type = 'client backend' and pid <> pg_backend_pid()`,
    })
    if (open.rows.length > 0) return sessionsEnd()
  }

  async function differences(): Promise<string[]> {
    const report = await verifyLedger(database_url)
    return report.differences.map((one) => `svc ledger verify: ${JSON.stringify(one)}`)
  }

  let explored = 0
  async function explore(names: readonly string[], chooser: Chooser): Promise<void> {
    const scene = await nextScene()
    const operations = names.map(
      (name, i) => async () => OPERATIONS[name]?.(servers[i] as Server, scene),
    )
    const order = await runOrder(gates.slice(0, names.length), operations, { chooser, locksOf })
    await sessionsEnd()
    const isRepeated = names.includes('accept with a key')
    const faults = [
      ...(await drain(calm, scene, { servers: all, isRepeated, database: control })),
      ...(await faultsIn(control, scene)),
      ...(explored++ % VERIFY_EVERY === 0 ? await differences() : []),
    ]
    result.statements += order.trace.length
    result.blocked += order.blocked
    result.refused += order.outcomes.filter(({ status }) => status === 'rejected').length
    const ends = order.outcomes.map((outcome, i) => {
      const end = outcome.status === 'fulfilled' ? JSON.stringify(outcome.value) : outcome.reason
      return `${names[i]}: ${end}`
    })
    const lines = [...order.trace, ...ends, ...faults.map((fault) => `VIOLATION ${fault}`)]
    const text = [names.join(' | '), ...lines.map((line) => `  ${line}`)].join('\n')
    if (faults.length > 0) violations.push(text)
    onOrder(text, faults)
  }

  const names = Object.keys(OPERATIONS)
  const { index, count } = part ?? { index: 0, count: 1 }
  const pairs = options.pairs ?? names.flatMap((a, i) => names.slice(i).map((b): Pair => [a, b]))
  try {
    for (const [number, pair] of pairs.entries()) {
      if (number % count !== index) continue
      const chooser = exhaustive(preemptions)
      for (let order = 0; order < per_pair; order++) {
        await explore(pair, chooser)
        result.systematic++
        if (!chooser.next()) break
      }
    }
    for (; result.random < random_orders; result.random++) {
      const length = random.between(2, SERVERS + 1)
      const some = Array.from({ length }, () => random.pick(names))
      await explore(some, randomly(random))
    }
    violations.push(...(await differences()))
  } finally {
    for (const { storage } of all) await storage.close()
    for (const gate of gates) await gate.close()
    await control.end()
  }
  return { ...result, violations }
}
