import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { check } from '../crash/check.ts'
import { checkApi } from '../crash/check-api.ts'
import { damageIn, type Evidence, emptied, readStored } from '../crash/evidence.ts'
import { createOperations, idsAnswered } from '../crash/operations.ts'
import { openReceiver } from '../crash/receiver.ts'
import { startTraffic } from '../crash/traffic.ts'
import { openAccounts } from '../stage/accounts.ts'
import { type Query, queryFile } from '../stage/database.ts'
import { randomFrom } from '../stage/random.ts'
import {
  levelOf,
  runCommand,
  type Service,
  type ServiceOptions,
  startService,
} from '../stage/serve.ts'
import { until } from '../stage/until.ts'
import { createViolations, type Violations } from '../stage/violations.ts'
import { type Injection, openInjection } from './inject.ts'
import type { Scenario, Scene } from './scenario.ts'

export interface FaultsOptions {
  /** Scenarios that run one after the other on one service. */
  scenarios: readonly Scenario[]
  seed: number
  /** An empty folder. */
  folder: string
  short: boolean
  progress(text: string): void
}

export interface FaultsResult {
  violations: Violations
  accepted: number
  seconds: number
  notes: string[]
}

const CONNECTIONS = 6
/** The maximum of waiting messages, so that the end is short. */
const BACKLOG_MAX = 300
/** Messages to accept before a fault, and after it. */
const ACCEPTED = { full: 300, short: 30 }
const RECOVERY_MAX_MS = 60_000
/** Rows in flight at a clock step backwards are corrected three minutes later, or at the next start. */
const QUIET_MAX_MS = { before_end: 240_000, after_start: 30_000 }
const END_MAX_MS = 60_000
const ERROR_LEVEL = 50

const NO_INJECTION: Injection = {
  env: {},
  failWrites: notInjected,
  failFlushes: notInjected,
  delayFlushes: notInjected,
  shiftClock: notInjected,
  failed: () => 0,
  close() {},
}

function notInjected(): never {
  throw new Error('the scenario does not declare that it injects')
}

/** Runs scenarios on one service under load, and then checks all promises. */
export async function playFaults(options: FaultsOptions): Promise<FaultsResult> {
  const { scenarios, folder } = options
  const data = join(folder, 'data')
  mkdirSync(data)
  const disk_mib = scenarios.find((scenario) => scenario.disk_mib)?.disk_mib
  const unmount = () => spawnSync('umount', ['-l', data])
  if (disk_mib) {
    mount(data, disk_mib)
    process.once('exit', unmount)
  }
  const injection = scenarios.some(({ injects }) => injects)
    ? openInjection({ folder, data })
    : NO_INJECTION
  try {
    return await play(options, { data, injection })
  } finally {
    injection.close()
    if (disk_mib) {
      process.off('exit', unmount)
      unmount()
    }
  }
}

function mount(folder: string, mib: number): void {
  const { status, stderr } = spawnSync(
    'mount',
    ['-t', 'tmpfs', '-o', `size=${mib}m`, 'svc-faults', folder],
    { encoding: 'utf8' },
  )
  if (status !== 0) throw new Error(`mount: ${stderr}`)
}

async function play(
  options: FaultsOptions,
  { data, injection }: { data: string; injection: Injection },
): Promise<FaultsResult> {
  const { scenarios, seed, short, progress } = options
  const from = performance.now()
  const violations = createViolations()
  const random = randomFrom(seed)
  const notes: string[] = []
  const serviceOptions: ServiceOptions = {
    folder: data,
    ...scenarios.find((scenario) => scenario.service?.log_to)?.service,
    env: Object.assign(
      {},
      injection.env,
      ...scenarios.map((scenario) => scenario.service?.env ?? {}),
    ),
  }
  const receiver = await openReceiver({ flaky: !short, anytime: true })
  let service: Service | null = null
  try {
    service = await startService(serviceOptions)
    const { url } = service
    const accounts = await openAccounts(url, receiver)
    const operations = createOperations(random, { accounts: accounts.length, slow: 0 })
    const traffic = startTraffic({
      operations,
      accounts,
      random,
      connections: CONNECTIONS,
      finished: receiver.finished,
      backlog_max: BACKLOG_MAX,
    })
    const scene: Scene = {
      chance: randomFrom(seed + 1),
      traffic,
      receiver,
      violations,
      service: () => service as Service,
      async restart() {
        traffic.aim([])
        await endIn(service as Service, violations)
        service = await startService(serviceOptions)
        traffic.aim([service.url])
      },
      accounts,
      operations,
      data,
      injection,
      short,
      note(text) {
        notes.push(text)
        progress(`  ${text}`)
      },
    }
    const enough = ACCEPTED[short ? 'short' : 'full']
    traffic.aim([url])
    await acceptMore(scene, enough, violations.rule('requests are accepted at first'))
    for (const scenario of scenarios) {
      progress(`${scenario.name}: ${scenario.title}`)
      await playOne(scenario, scene)
      const again = violations.rule('requests are accepted again afterwards')
      await acceptMore(scene, enough, (text) => again(`${text} (${scenario.name})`))
    }
    await traffic.finish()
    const isUp = !scene.service().hasEnded()
    const query = queryFile(join(data, 'svc.db'))
    const onWait = (text: string, times: number) => times % 200 === 199 && progress(text)
    if (isUp) await emptied(query, { max_ms: QUIET_MAX_MS.before_end, onWait })
    // The short form has already ended it and started the next one.
    if (!short || !isUp) {
      await endIn(scene.service(), violations)
      service = await startService({ ...serviceOptions, log_to: 'driver' })
      await emptied(query, { max_ms: QUIET_MAX_MS.after_start, onWait })
    }
    const evidence = await look(
      query,
      scene,
      scenarios.some(({ fails }) => fails),
    )
    await checkApi(service.url, evidence, violations)
    check(evidence, violations)
    receiver.faults.forEach(
      violations.rule('every delivery is signed, and the same on every attempt'),
    )
    await endIn(service, violations)
    await verifyLedger(serviceOptions, violations)
    return {
      violations,
      accepted: operations.all.flatMap(idsAnswered).length,
      seconds: (performance.now() - from) / 1_000,
      notes,
    }
  } finally {
    await service?.end('SIGKILL')
    await receiver.close()
  }
}

async function playOne(scenario: Scenario, scene: Scene): Promise<void> {
  const { ends = 'never', fails = false, name } = scenario
  const { rule } = scene.violations
  const service = scene.service()
  const errorsBefore = errorsIn(service)
  await scenario.play(scene)
  const alone = rule('the service runs until a signal ends it')
  const clear = rule('a service that exits logs the reason, and its code is not 0')
  const must = rule('the service ends where it can promise nothing any more')
  if (!fails && scene.service() === service) {
    const errors = errorsIn(service) - errorsBefore
    const wrong = rule('the service logs no error')
    const lines = service.log.kept.filter((line) => levelOf(line) >= ERROR_LEVEL).slice(-errors)
    for (let i = 0; i < errors; i++) wrong(`${name}: ${lines[i]?.slice(0, 300)}`)
  }
  if (!service.hasEnded()) {
    if (ends === 'must') must(name)
    return
  }
  if (scene.service() !== service) return
  const { code, signal } = await service.ended
  scene.note(`exited on its own with ${signal ?? code}`)
  if (ends === 'never') alone(`${name}: it exited with ${signal ?? code}`)
  const fatal = service.log.kept.filter((line) => levelOf(line) >= 60 || levelOf(line) === 0)
  if (fatal.length === 0 || !code) clear(`${name}: ${signal ?? code}, ${fatal.join(' ')}`)
  else scene.note(`last error: ${fatal.at(-1)?.slice(0, 200)}`)
  await scene.restart()
}

function errorsIn({ log }: Service): number {
  return [...log.levels].reduce((sum, [level, n]) => sum + (level >= ERROR_LEVEL ? n : 0), 0)
}

/** Resolves when this many more messages were accepted, or after a timeout. */
async function acceptMore(
  { traffic, service }: Scene,
  more: number,
  broken: (text: string) => void,
): Promise<void> {
  const enough = traffic.accepted() + more
  const isEnough = () => traffic.accepted() >= enough
  const isOver = () => isEnough() || service().hasEnded()
  traffic.aim([service().url])
  if (!(await until(isOver, { max_ms: RECOVERY_MAX_MS }))) {
    broken(`${enough - traffic.accepted()} of ${more} not within ${RECOVERY_MAX_MS} ms`)
  } else if (!isEnough()) broken('the service has ended')
}

/** SIGTERM must end it with code 0. */
async function endIn(service: Service, { rule }: Violations): Promise<void> {
  const inOrder = rule('SIGTERM ends the service with code 0')
  if (service.hasEnded()) return
  const limit = setTimeout(() => service.end('SIGKILL'), END_MAX_MS)
  const { code, signal } = await service.end('SIGTERM')
  clearTimeout(limit)
  if (code !== 0) inOrder(`${signal ?? code}`)
}

async function look(
  query: Query,
  { operations, accounts, receiver }: Scene,
  outages: boolean,
): Promise<Evidence> {
  const stored = { ...(await readStored(query)), damage: await damageIn(query) }
  return { operations: operations.all, accounts, received: receiver.events, stored, outages }
}

async function verifyLedger(options: ServiceOptions, { rule }: Violations): Promise<void> {
  const wrong = rule('svc ledger verify finds no difference')
  const { code, output } = await runCommand(['ledger', 'verify'], options)
  if (code !== 0) wrong(output)
}
