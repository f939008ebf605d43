import { join } from 'node:path'
import { openReadonly } from '../../bench/database.ts'
import { type Account, openAccount } from './accounts.ts'
import { check } from './check.ts'
import { checkApi } from './check-api.ts'
import { type Evidence, readStored, readWaiting } from './evidence.ts'
import { createOperations, type Operations } from './operations.ts'
import { type Random, randomFrom } from './random.ts'
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

/** So many lives count from the first webhook on: a service that has hardly begun is killed in the other ones. */
const AT_WORK_PERCENT = 60
const AT_WORK_MAX_MS = 5_000

const SLOW_MESSAGES = 20

/** Of the services that follow on a killed one, so many are killed while they start. */
const KILLED_AT_START_PERCENT = 35

/** How long the last messages may take to come to their end: the slowest takes 30 s, a refused webhook 5 s or 30 s. */
const QUIET_MAX_MS = 120_000

/** Kills a service over and over under load, lets it come to rest, and looks at what is left. */
export async function crash(options: CrashOptions): Promise<CrashResult> {
  const from = performance.now()
  const receiver = await openReceiver({ flaky: options.patient })
  const victims = openVictims(options)
  let victim = await victims.start()
  try {
    const scene = await openScene(options, victim.url, receiver)
    const kills = { under_load: 0, during_start: 0 }
    for (let cycle = 1; cycle <= options.cycles; cycle++) {
      victim = await killAndRestart(victim, victims, scene, kills)
      options.progress(
        `${cycle}/${options.cycles}: ${scene.operations.all.length} sends, ${receiver.finished()} at their end`,
      )
    }
    scene.traffic.aim(victim.url)
    await scene.traffic.finish()
    await quiet(options)
    const violations = createViolations()
    const evidence = look(options, scene, violations)
    await checkApi(victim.url, evidence, violations)
    check(evidence, violations)
    noteFaults(receiver, victims, violations)
    return { evidence, violations, kills, seconds: (performance.now() - from) / 1000 }
  } finally {
    await victim.kill()
    await receiver.close()
  }
}

/** Everybody around the service. */
interface Scene {
  /** Decides when the service is killed. */
  kill: Random
  accounts: Account[]
  receiver: Receiver
  operations: Operations
  traffic: Traffic
}

async function openScene(
  { seed, patient }: CrashOptions,
  url: string,
  receiver: Receiver,
): Promise<Scene> {
  // Apart, so that when it is killed does not depend on how much could be sent until then.
  const kill = randomFrom(seed)
  const random = randomFrom(seed + 1)
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
  })
  return { kill, accounts, receiver, operations, traffic }
}

/** One life under load, its end, now and then a second end while starting again, and the next life. */
async function killAndRestart(
  victim: Victim,
  victims: Victims,
  { kill, traffic, receiver }: Scene,
  kills: CrashResult['kills'],
): Promise<Victim> {
  traffic.aim(victim.url)
  if (kill.percent(AT_WORK_PERCENT)) await atWork(receiver)
  await pause(kill.between(LIFE_MS.min, LIFE_MS.max))
  const dead = victim.kill()
  traffic.aim(null)
  await dead
  kills.under_load += 1
  if (kill.percent(KILLED_AT_START_PERCENT)) {
    await victims.startAndKill(kill.next() * victim.startup_ms * 1.2)
    kills.during_start += 1
  }
  return victims.start()
}

/** Resolves when the service has delivered something, or does not come to it. */
async function atWork(receiver: Receiver): Promise<void> {
  const before = receiver.deliveries()
  const until = performance.now() + AT_WORK_MAX_MS
  while (receiver.deliveries() === before && performance.now() < until) await pause(10)
}

/** Resolves when nothing waits any more, or when it has waited too long for that. */
async function quiet({ folder, progress }: CrashOptions): Promise<void> {
  const database = openReadonly(join(folder, 'svc.db'))
  const until = performance.now() + QUIET_MAX_MS
  for (let i = 0; performance.now() < until; i++) {
    const { messages, deliveries } = readWaiting(database)
    if (messages + deliveries === 0) break
    if (i % 50 === 0) progress(`waiting for ${messages} messages and ${deliveries} deliveries`)
    await pause(100)
  }
  database.close()
}

function look(
  { folder }: CrashOptions,
  { accounts, receiver, operations }: Scene,
  { rule }: Violations,
): Evidence {
  const database = openReadonly(join(folder, 'svc.db'))
  const stored = readStored(database)
  database.close()
  const missing = rule('messages were sent at all')
  if (stored.messages.length === 0) missing('there is not one')
  return { operations: operations.all, accounts, received: receiver.events, stored }
}

function noteFaults(receiver: Receiver, victims: Victims, { rule }: Violations): void {
  receiver.faults.forEach(rule('every delivery is signed, and the same on every attempt'))
  const errors = victims
    .log()
    .split('\n')
    .filter((line) => /"level":(?:50|60)/.test(line))
  errors.forEach(rule('the service logs no error'))
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
