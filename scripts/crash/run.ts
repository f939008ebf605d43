import { type Account, openAccount } from './accounts.ts'
import { check } from './check.ts'
import { checkApi } from './check-api.ts'
import { type Evidence, readStored, readWaiting } from './evidence.ts'
import { createOperations, type Operations } from './operations.ts'
import { openPostgresStage } from './postgres-stage.ts'
import { randomFrom } from './random.ts'
import { openReceiver, type Receiver } from './receiver.ts'
import { openSqliteStage } from './sqlite-stage.ts'
import { type Misfortune, type Play, pause, type Stage } from './stage.ts'
import { startTraffic } from './traffic.ts'
import { createViolations, type Violations } from './violations.ts'

/** How a service is to be tormented. */
export interface CrashOptions {
  /** How often something happens to it under load. */
  cycles: number
  /** Decides what is sent, and what happens when; what it interrupts is up to the machine. */
  seed: number
  /** An empty folder for what the service writes. */
  folder: string
  node_args: readonly string[]
  /** Another module than the service's own, to see whether the rules notice what is wrong with it. */
  entry?: string
  /** Whether messages that take 30 s and receivers that refuse now and then take part: they make the end longer. */
  patient: boolean
  /** Several servers on a PostgreSQL, instead of one on a SQLite file. */
  postgres?: { standstill_ms: number; lease_ms?: number }
  progress(text: string): void
}

/** What came of it. */
export interface CrashResult {
  evidence: Evidence
  violations: Violations
  misfortunes: Misfortune[]
  seconds: number
}

const CONNECTIONS = 64
const ACCOUNTS = ['asha', 'baraka']
const SLOW_MESSAGES = 20

/** What a killed server has claimed waits for its lease to end on PostgreSQL; traffic goes on meanwhile. */
const BACKLOG_MAX = { sqlite: 1_500, postgres: 5_000 }

/**
 * How long the last messages may take to come to their end: the slowest takes 30 s, a lease a minute, a refused webhook
 * 5 s or 30 s.
 */
const QUIET_MAX_MS = { sqlite: 120_000, postgres: 240_000 }

/** Lets one misfortune after the other befall a service under load, lets it come to rest, and looks at what is left. */
export async function crash(options: CrashOptions): Promise<CrashResult> {
  const from = performance.now()
  const { postgres } = options
  const receiver = await openReceiver({ flaky: options.patient })
  const stage = await (postgres
    ? openPostgresStage({ ...options, ...postgres })
    : openSqliteStage(options))
  try {
    const scene = await openScene(options, stage, receiver)
    const { traffic, operations, violations } = scene
    const misfortunes: Misfortune[] = []
    for (let cycle = 1; cycle <= options.cycles; cycle++) {
      const befell = await stage.suffer(scene)
      misfortunes.push(...befell)
      options.progress(
        `${cycle}/${options.cycles}: ${operations.all.length} sends, ${receiver.finished()} at their end; ${befell.map(({ kind }) => kind).join(', ')}`,
      )
    }
    traffic.aim(stage.urls())
    await traffic.finish()
    await quiet(options, stage)
    const evidence = await look(stage, scene)
    await checkApi(stage.urls()[0] ?? '', evidence, violations)
    check(evidence, violations)
    noteFaults(receiver, stage, violations)
    return { evidence, violations, misfortunes, seconds: (performance.now() - from) / 1000 }
  } finally {
    await stage.close()
    await receiver.close()
  }
}

interface Scene extends Play {
  accounts: Account[]
  operations: Operations
}

async function openScene(
  { seed, patient, postgres }: CrashOptions,
  stage: Stage,
  receiver: Receiver,
): Promise<Scene> {
  // Apart, so that what happens does not depend on how much could be sent until then.
  const chance = randomFrom(seed)
  const random = randomFrom(seed + 1)
  const [url = ''] = stage.urls()
  const accounts = await Promise.all(ACCOUNTS.map((name) => openAccount(url, receiver.url, name)))
  receiver.trust(accounts)
  const operations = createOperations(random, {
    accounts: accounts.length,
    slow: patient ? SLOW_MESSAGES : 0,
  })
  const traffic = startTraffic({
    operations,
    accounts,
    random,
    connections: CONNECTIONS,
    finished: receiver.finished,
    backlog_max: BACKLOG_MAX[postgres ? 'postgres' : 'sqlite'],
  })
  return { chance, accounts, receiver, operations, traffic, violations: createViolations() }
}

/** Resolves when nothing waits any more, or when it has waited too long for that. */
async function quiet({ progress, postgres }: CrashOptions, { query }: Stage): Promise<void> {
  const until = performance.now() + QUIET_MAX_MS[postgres ? 'postgres' : 'sqlite']
  for (let i = 0; performance.now() < until; i++) {
    const { messages, deliveries } = await readWaiting(query)
    if (messages + deliveries === 0) break
    if (i % 50 === 0) progress(`waiting for ${messages} messages and ${deliveries} deliveries`)
    await pause(100)
  }
}

async function look(
  { query, damage, outages }: Stage,
  { accounts, receiver, operations, violations }: Scene,
): Promise<Evidence> {
  const stored = { ...(await readStored(query)), damage: await damage() }
  const missing = violations.rule('messages were sent at all')
  if (stored.messages.length === 0) missing('there is not one')
  return { operations: operations.all, accounts, received: receiver.events, stored, outages }
}

/** What a server says that could not reach its database, or was refused by its own overload meanwhile. */
const AWAY = /DatabaseAway|rate_limit_exceeded|PostgresError|no answer within|"status":500/

function noteFaults(receiver: Receiver, stage: Stage, { rule }: Violations): void {
  receiver.faults.forEach(rule('every delivery is signed, and the same on every attempt'))
  const errors = stage
    .log()
    .split('\n')
    .filter((line) => /"level":(?:50|60)/.test(line) && !(stage.outages && AWAY.test(line)))
  errors.forEach(rule('the service logs no error'))
}
