import { join } from 'node:path'
import { openReadonly } from '../../bench/database.ts'
import { type Account, openAccount } from './accounts.ts'
import { check } from './check.ts'
import { checkApi } from './check-api.ts'
import { type Evidence, readStored, readWaiting } from './evidence.ts'
import { createOperations } from './operations.ts'
import { randomFrom } from './random.ts'
import { openReceiver, type Receiver } from './receiver.ts'
import { startTraffic, type Traffic } from './traffic.ts'
import { openVictims, type Victim, type Victims } from './victim.ts'
import { createViolations, type Violations } from './violations.ts'

/** How a service is to be tormented. */
export interface CrashOptions {
  /** How often it is killed under load. */
  cycles: number
  /** Decides what is sent and when it is killed; what the kill interrupts is up to the machine. */
  seed: number
  /** An empty folder for the database. */
  folder: string
  node_args: readonly string[]
  /** Another module than the service's own, to see whether the rules notice what is wrong with it. */
  entry?: string
  /** Whether messages that take 30 s and receivers that refuse now and then take part: they make the end longer. */
  patient: boolean
  progress(text: string): void
}

/** What came of it. */
export interface CrashResult {
  evidence: Evidence
  violations: Violations
  kills: { under_load: number; during_start: number }
  seconds: number
}

const CONNECTIONS = 64
const ACCOUNTS = ['asha', 'baraka']
const LIFE_MS = { min: 200, max: 1_500 }
const SLOW_MESSAGES = 20

/** Of the services that follow on a killed one, so many are killed while they start. */
const KILLED_AT_START_PERCENT = 35

/** How long the last messages may take to come to their end: the slowest takes 30 s, a refused webhook 5 s or 30 s. */
const QUIET_MAX_MS = 120_000

/** Kills a service over and over under load, lets it come to rest, and looks at what is left. */
export async function crash(options: CrashOptions): Promise<CrashResult> {
  const { seed, folder, patient } = options
  const from = performance.now()
  const random = randomFrom(seed)
  const receiver = await openReceiver({ flaky: patient })
  const victims = openVictims(options)
  let victim = await victims.start()
  const accounts = await Promise.all(
    ACCOUNTS.map((name) => openAccount(victim.url, receiver.url, name)),
  )
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
  })
  const kills = { under_load: 0, during_start: 0 }
  try {
    for (let cycle = 1; cycle <= options.cycles; cycle++) {
      await liveAndDie(victim, traffic, random.between(LIFE_MS.min, LIFE_MS.max))
      kills.under_load += 1
      if (random.percent(KILLED_AT_START_PERCENT)) {
        await victims.startAndKill(random.next() * victim.startup_ms * 1.2)
        kills.during_start += 1
      }
      victim = await victims.start()
      options.progress(
        `${cycle}/${options.cycles}: ${operations.all.length} sends, ${receiver.finished()} at their end`,
      )
    }
    const violations = createViolations()
    traffic.aim(victim.url)
    await traffic.finish()
    await quiet(folder, options.progress)
    const evidence = look({ folder, accounts, receiver, operations: operations.all }, violations)
    await checkApi(victim.url, evidence, violations)
    check(evidence, violations)
    noteFaults(receiver, victims, violations)
    return { evidence, violations, kills, seconds: (performance.now() - from) / 1000 }
  } finally {
    traffic.aim(null)
    await victim.kill()
    await receiver.close()
  }
}

async function liveAndDie(victim: Victim, traffic: Traffic, ms: number): Promise<void> {
  traffic.aim(victim.url)
  await new Promise((resolve) => setTimeout(resolve, ms))
  const dead = victim.kill()
  traffic.aim(null)
  await dead
}

/** Resolves when nothing waits any more, or when it has waited too long for that. */
async function quiet(folder: string, progress: (text: string) => void): Promise<void> {
  const database = openReadonly(join(folder, 'svc.db'))
  const until = performance.now() + QUIET_MAX_MS
  for (let i = 0; performance.now() < until; i++) {
    const { messages, deliveries } = readWaiting(database)
    if (messages + deliveries === 0) break
    if (i % 50 === 0) progress(`waiting for ${messages} messages and ${deliveries} deliveries`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  database.close()
}

function look(
  known: { folder: string; accounts: Account[]; receiver: Receiver } & Pick<Evidence, 'operations'>,
  { rule }: Violations,
): Evidence {
  const { folder, accounts, receiver, operations } = known
  const database = openReadonly(join(folder, 'svc.db'))
  const stored = readStored(database)
  database.close()
  const missing = rule('messages were sent and killed in the middle')
  if (stored.messages.length === 0) missing('there is not one')
  return { operations, accounts, received: receiver.events, stored }
}

function noteFaults(receiver: Receiver, victims: Victims, { rule }: Violations): void {
  receiver.faults.forEach(rule('every delivery is signed, and the same on every attempt'))
  const errors = victims
    .log()
    .split('\n')
    .filter((line) => /"level":(?:50|60)/.test(line))
  errors.forEach(rule('the service logs no error'))
}
