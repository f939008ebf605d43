import { verifyLedger } from '@svc/core/operate'
import { type FailoverOptions, openFailoverStage } from '../failover/stage.ts'
import { type Account, openAccounts } from '../stage/accounts.ts'
import { randomFrom } from '../stage/random.ts'
import { createViolations, type Violations } from '../stage/violations.ts'
import { check } from './check.ts'
import { checkApi } from './check-api.ts'
import { type Evidence, emptied, readStored } from './evidence.ts'
import { createOperations, type Operations } from './operations.ts'
import { openPostgresStage } from './postgres-stage.ts'
import { openReceiver, type Receiver } from './receiver.ts'
import { openSqliteStage } from './sqlite-stage.ts'
import type { Fault, Play, Stage } from './stage.ts'
import { startTraffic } from './traffic.ts'

/** The settings of a crash run. */
export interface CrashOptions {
  /** The number of faults under load. */
  cycles: number
  /** Determines the requests and the faults; which work a fault interrupts depends on the machine. */
  seed: number
  /** An empty folder for the service's files. */
  folder: string
  node_args: readonly string[]
  /** A module in place of the service's own, to test whether the rules notice its defects. */
  entry?: string
  /** Whether messages that take 30 s, and receivers that sometimes refuse, take part: they make the end longer. */
  patient: boolean
  /** The pause of each caller after an answer, in ms; default: none. */
  rest_ms?: number
  /** Several servers on a PostgreSQL, instead of one on a SQLite file. */
  postgres?: { standstill_ms: number; lease_ms?: number }
  /** Several servers on a PostgreSQL with a synchronous standby. */
  failover?: FailoverOptions
  progress(text: string): void
  /** Whether no further fault follows; asked after each. Default: after the last of `cycles`. */
  isStopping?(): boolean
}

/** The result of a run. */
export interface CrashResult {
  evidence: Evidence
  violations: Violations
  faults: Fault[]
  seconds: number
}

const CONNECTIONS = 64
const SLOW_MESSAGES = 20
const MAILS_PERCENT = 30
/** One of so many operations starts a one-time code. */
const CODES_EVERY = 6

/** On PostgreSQL the claimed rows of a killed server wait for the end of their lease; traffic continues meanwhile. */
const BACKLOG_MAX = { sqlite: 1_500, postgres: 5_000 }

/**
 * The maximum time until the last messages reach their final status: the slowest takes 30 s, a lease a minute, a
 * refused webhook 5 s or 30 s.
 */
const QUIET_MAX_MS = { sqlite: 120_000, postgres: 240_000 }

/** Runs the faults one after the other on a service under load, waits until it is idle, and checks the rules. */
export async function crash(options: CrashOptions): Promise<CrashResult> {
  const from = performance.now()
  const receiver = await openReceiver({ flaky: options.patient })
  const stage = await openStage(options)
  try {
    const scene = await openScene(options, stage, receiver)
    const { traffic, operations, violations } = scene
    const faults: Fault[] = []
    for (let cycle = 1; cycle <= options.cycles; cycle++) {
      const caused = await stage.causeFault(scene)
      faults.push(...caused)
      options.progress(
        `${cycle}/${options.cycles}: ${operations.all.length} sends, ${receiver.finished()} at their end; ${caused.map(({ kind }) => kind).join(', ')}`,
      )
      if (options.isStopping?.()) break
    }
    traffic.aim(stage.urls())
    await traffic.finish()
    await emptied(stage.query, {
      max_ms: QUIET_MAX_MS[engineOf(options)],
      onWait: (text, times) => times % 50 === 0 && options.progress(text),
    })
    const evidence = await look(stage, scene)
    await checkApi(stage.urls()[0] ?? '', evidence, violations)
    check(evidence, violations)
    noteFaults(receiver, stage, violations)
    return { evidence, violations, faults, seconds: (performance.now() - from) / 1000 }
  } finally {
    await stage.close()
    await receiver.close()
  }
}

function openStage(options: CrashOptions): Promise<Stage> {
  const { postgres, failover } = options
  if (failover) return openFailoverStage({ ...options, ...failover })
  return postgres ? openPostgresStage({ ...options, ...postgres }) : openSqliteStage(options)
}

function engineOf({ postgres, failover }: CrashOptions): 'postgres' | 'sqlite' {
  return postgres || failover ? 'postgres' : 'sqlite'
}

interface Scene extends Play {
  accounts: Account[]
  operations: Operations
}

async function openScene(options: CrashOptions, stage: Stage, receiver: Receiver): Promise<Scene> {
  const { seed, patient, rest_ms = 0 } = options
  // A separate generator, so that the faults do not depend on the number of requests until then.
  const chance = randomFrom(seed)
  const random = randomFrom(seed + 1)
  const [url = ''] = stage.urls()
  const accounts = await openAccounts(url, receiver)
  const operations = createOperations(random, {
    accounts: accounts.length,
    slow: patient ? SLOW_MESSAGES : 0,
    // A provider outside the service asks for a verified domain of the sender.
    mails_percent: options.failover ? 0 : MAILS_PERCENT,
    codes_every: CODES_EVERY,
  })
  const traffic = startTraffic({
    operations,
    accounts,
    random,
    connections: CONNECTIONS,
    rest_ms,
    inletOf: stage.inletOf,
    finished: receiver.finished,
    backlog_max: BACKLOG_MAX[engineOf(options)],
  })
  return { chance, accounts, receiver, operations, traffic, violations: createViolations() }
}

async function look(
  { query, database_url, calls, damage, outages }: Stage,
  { accounts, receiver, operations, violations }: Scene,
): Promise<Evidence> {
  const stored = { ...(await readStored(query)), damage: await damage() }
  const missing = violations.rule('at least one message was sent')
  if (stored.messages.length === 0) missing('there is none')
  const books = violations.rule('svc ledger verify finds no difference')
  const { differences } = await verifyLedger(database_url())
  for (const difference of differences) books(JSON.stringify(difference))
  const { events: received } = receiver
  return { operations: operations.all, accounts, received, calls, stored, outages }
}

/** Log lines of a server that could not reach its database, or refused requests for overload meanwhile. */
const AWAY =
  /DatabaseAway|rate_limit_exceeded|accepted, but it cannot be read|PostgresError|no answer within|"status":500|takes no writes|another server was promoted/

function noteFaults(receiver: Receiver, stage: Stage, { rule }: Violations): void {
  receiver.faults.forEach(rule('every delivery is signed, and the same on every attempt'))
  const errors = stage
    .log()
    .split('\n')
    .filter((line) => /"level":(?:50|60)/.test(line) && !(stage.outages && AWAY.test(line)))
  errors.forEach(rule('the service logs no error'))
}
