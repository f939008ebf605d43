import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import type { Connection as Opened } from '../../packages/core/src/storage/sqlite/engine/connection.ts'
import {
  clock,
  EVENING_MS,
  elapsedMs,
  endProcess,
  later,
  restartClock,
  running,
  START_MS,
  settled,
  settleTasks,
  suspend,
} from './clock.ts'
import { createDisk } from './disk.ts'
import type { Door } from './http.ts'
import { mixed, randomOf } from './random.ts'

const { createCore } = await import('../../packages/core/src/core.ts')
const { idGenerator } = await import('../../packages/core/src/runtime/runtime.ts')
const { Sqlite } = await import('../../packages/core/src/storage/sqlite/engine/connection.ts')

export type Core = Awaited<ReturnType<typeof createCore>>
type CoreOptions = Parameters<typeof createCore>[0]
export type Connection = Opened
type Statement = ReturnType<Connection['prepare']>
/** The connections of the service to receivers. */
export type Network = NonNullable<NonNullable<CoreOptions['runtime']>['network']>

/** Files in memory: the simulated disk never needs the machine's. */
const FOLDER = `${existsSync('/dev/shm') ? '/dev/shm' : '/tmp'}/svc-simulate-${process.pid}`
// A run that was killed leaves its folder to a later one with the same number.
rmSync(FOLDER, { recursive: true, force: true })
mkdirSync(FOLDER, { recursive: true })
process.once('exit', () => rmSync(FOLDER, { recursive: true, force: true }))

/** A promise of the service was broken. */
export class Violation extends Error {
  readonly invariant: string
  constructor(invariant: string, text: string) {
    super(text)
    this.invariant = invariant
  }
}

/** One of this number of turns of the event loop takes time, and one of the second number is slow, up to these times. */
const BUSY_TURNS = 3
const BUSY_TURN_MS = 4
const SLOW_TURNS = 12
const SLOW_TURN_MS = 40

/** The timers of a seed: work that repeats without an end is stuck too. Most seeds have fewer than 5,000, and those that go on for weeks about 30,000. */
const STEPS_MAX = 90_000

/** What happens to one of the next commits. The power fails while the log is flushed, or the flush fails. */
export type CommitFault =
  | 'killed_before'
  | 'killed_after'
  | 'disk_full'
  | 'power_cut'
  | 'failed_flush'
  | 'write_fails'

/** The codes of errors with which a process does not start. */
const START_FAULTS: ReadonlySet<unknown> = new Set([...['SQLITE_FULL', 'EIO', 'secrets_key']])

/** A process whose flush failed must end within this time. */
const FAILED_MS = 1_000

/** A request whose process was killed before it answered. */
export const UNANSWERED = Symbol('unanswered')

/** What an operator changes between two processes. */
interface Settings {
  /** The number of the price list. */
  prices: number
  /** The provider that is left out. */
  without: string | null
  /** Whether the key that encrypted most secrets is missing. */
  isKeyMissing: boolean
}

const DEFAULTS: Settings = { prices: 0, without: null, isKeyMissing: false }

export type World = ReturnType<typeof createWorld>

/**
 * One service and the time around it. The service is killed and started again; its database is the file of the moment at
 * which it was killed.
 */
export function createWorld(
  seed: number,
  options: Omit<
    CoreOptions,
    'database_url' | 'runtime' | 'prices' | 'providers' | 'secrets_keys'
  > & {
    image: string
    /** The webhooks of the image that the seed lacks. */
    lacking: readonly string[]
    network: Network
    providers: NonNullable<CoreOptions['providers']>
    secrets_keys: readonly string[]
    /** Opens the HTTP API of a process; null: clients call the core. */
    openDoor: ((core: Core) => Promise<Door>) | null
    price_lists: readonly NonNullable<CoreOptions['prices']>[]
  },
) {
  const {
    image,
    lacking,
    network,
    openDoor,
    price_lists,
    providers,
    secrets_keys,
    ...coreOptions
  } = options
  failWrites = 0
  restartClock(seed % 3 === 0 ? EVENING_MS : START_MS)
  const lines: string[] = []
  const hash = createHash('sha256')
  const names = new Map<string, string>()
  const counted = new Map<string, number>()
  const faults: { in_commits: number; fault: CommitFault }[] = []
  const connections = new Set<Connection>()
  const changes = new WeakMap<Connection, { total: () => number; seen: number }>()
  const disk = createDisk(seed)
  /** The elapsed times at which the process ended or stood still, or a commit failed. */
  const faulted: number[] = []
  let boots = 0
  /** The settings of the running process, and of the next. */
  const settings = { now: DEFAULTS, next: DEFAULTS }
  let commits = 0
  let steps = 0
  let file = ''
  let core: Core | null = null
  let door: Door | null = null
  let dispatcher: { idle(): Promise<void> } | null = null
  const deaths: (() => void)[] = []
  let broken: Violation | null = null
  /** Whether the last process was killed. */
  let isKilled = false
  let isStopping = false
  /** Whether the service has to be started. */
  let isDue = false

  /** A short name for an id, by the order in which ids of its kind were seen. */
  function nameOf(kind: string, id: string): string {
    const known = names.get(id)
    if (known) return known
    const name = `${kind}${names.size}`
    names.set(id, name)
    return name
  }

  function trace(text: string): void {
    const line = `${(elapsedMs() / 1000).toFixed(3).padStart(9)}  ${text}`
    hash.update(`${line}\n`)
    lines.push(line)
  }

  function count(kind: string): void {
    counted.set(kind, (counted.get(kind) ?? 0) + 1)
  }

  function violate(invariant: string, text: string): void {
    if (broken) return
    broken = new Violation(invariant, text)
    trace(`VIOLATION ${invariant}: ${text}`)
  }

  function runtime() {
    const next = randomOf(mixed(seed, boots))
    const bytes = (size: number) => {
      const all = Buffer.allocUnsafe(size)
      for (let at = 0; at < size; at++) all[at] = next()
      return all
    }
    const log = (level: 'warn' | 'error') => (fields: object, text: string) => {
      const { err } = fields as { err?: Error & { code?: string } }
      trace(`log ${level}: ${text}${err ? ` (${err.code ?? err.message})` : ''}`)
    }
    const now = () => new Date()
    return {
      now,
      elapsed: elapsedMs,
      id: idGenerator(now, bytes),
      bytes,
      random: () => next() / 2 ** 32,
      log: { debug() {}, info() {}, warn: log('warn'), error: log('error') },
      network,
    }
  }

  async function boot(): Promise<void> {
    boots += 1
    settings.now = settings.next
    endProcess()
    isKilled = false
    const jitter = randomOf(mixed(seed, boots, 1))
    running.late_ms = () => jitter() % 4
    // No time passes during the start.
    running.turn_ms = () => 0
    if (boots === 1) {
      file = `${FOLDER}/${seed}.db`
      copyFileSync(image, file)
      const copy = new Sqlite(file)
      for (const id of lacking) copy.prepare('delete from webhooks where id = ?').run(id)
      copy.close()
    }
    // The sides of the file are remembered by the hooks of the driver.
    opened = connections
    onCommit = commitHook
    onFailedWrite = () => void faulted.push(elapsedMs())
    disk.mount(file)
    if (disk.isAtRisk() && mixed(seed, boots, 2) % 4 === 0) {
      faulted.push(elapsedMs())
      disk.failFlush()
    }
    const started = await settled(
      createCore({
        ...coreOptions,
        prices: price_lists[settings.now.prices] ?? {},
        providers: providers.filter(({ name }) => name !== settings.now.without),
        secrets_keys: settings.now.isKeyMissing ? secrets_keys.slice(1) : secrets_keys,
        require_secrets_keys: !settings.now.isKeyMissing,
        database_url: `file:${file}`,
        threads: 0,
        accept_any_password: true,
        runtime: runtime(),
        onFailure() {
          trace('the service ends after a failure of the database')
          kill(200)
        },
      }),
    )
    door = openDoor && (await settled(openDoor(started)))
    dispatcher = await settled(started.startDispatch())
    core = started
    running.turn_ms = () => {
      const draw = jitter()
      if (draw % SLOW_TURNS === 0) return (draw >>> 8) % SLOW_TURN_MS
      return draw % BUSY_TURNS === 0 ? (draw >>> 8) % BUSY_TURN_MS : 0
    }
    trace(`service started (${boots})`)
  }

  /** A process may be killed while it starts, or ends because its disk is full. */
  async function startAgain(): Promise<void> {
    try {
      await boot()
    } catch (error) {
      const { code, message } = error as { code?: unknown; message: string }
      const isInUse = message.includes('EADDRINUSE')
      if (!isKilled && !isInUse && !START_FAULTS.has(code)) throw error
      if (code === 'secrets_key') settings.next = { ...settings.next, isKeyMissing: false }
      trace('the service did not start')
      kill(1_000)
    }
    bury()
  }

  /** Whether a connection changed rows since its last commit: most commits are of claims that find nothing. */
  function hasChanged(owner: Connection): boolean {
    const { total, seen } = changes.get(owner) ?? { total: totalOf(owner), seen: 0 }
    const now = total()
    changes.set(owner, { total, seen: now })
    return now !== seen
  }

  function commitHook(owner: Connection, commit: () => unknown): unknown {
    if (!hasChanged(owner)) return disk.commit(owner, commit)
    commits += 1
    const due = faults.findIndex((one) => one.in_commits-- <= 0)
    const [found] = due === -1 ? [] : faults.splice(due, 1)
    if (!found || isKilled) return disk.commit(owner, commit)
    const { fault } = found
    count(`fault ${fault}`)
    faulted.push(elapsedMs())
    trace(`commit ${commits}: ${fault}`)
    if (fault === 'write_fails') {
      failWrites = mixed(seed, commits, 3) % 3 === 0 ? FEW_WRITES : MANY_WRITES
      return disk.commit(owner, commit)
    }
    if (fault === 'disk_full') {
      throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' })
    }
    if (fault === 'killed_after') disk.commit(owner, commit)
    if (fault === 'power_cut' || fault === 'failed_flush') disk.commitUnflushed(owner, commit)
    if (fault === 'failed_flush') {
      const failed = running.process
      later(() => {
        if (failed === running.process) {
          violate('a failed flush ends the process', `commit ${commits}`)
        }
      }, FAILED_MS)
      throw Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_FSYNC' })
    }
    kill(100 + (mixed(seed, commits) % 5_000), { isPower: fault === 'power_cut' })
    throw new Error('killed')
  }

  /**
   * Ends the process: it answers nothing more, and its database is the one of this moment, or after a power cut the one of the
   * disk. The next starts after `down_ms`.
   */
  function kill(down_ms: number, { isPower = false } = {}): void {
    if (isKilled) {
      if (isPower) cutPower()
      return
    }
    isKilled = true
    isStopping = false
    faulted.push(elapsedMs())
    later(() => {
      isDue = true
    }, down_ms)
    core = null
    const next = `${FOLDER}/${seed}-${boots}.db`
    copyFileSync(file, next)
    if (existsSync(`${file}-wal`)) copyFileSync(`${file}-wal`, `${next}-wal`)
    endProcess()
    onCommit = null
    onFailedWrite = null
    closing.push({ old: file, open: [...connections] })
    connections.clear()
    file = next
    if (isPower) cutPower()
    for (const death of deaths.splice(0)) death()
  }

  function cutPower(): void {
    const lost = disk.cutPower(file)
    trace(`the power fails: ${lost} sectors of the log are lost`)
  }

  /** Stops the service as a signal does: requests and calls end first. The next one starts after `down_ms`. */
  function stop({ grace_ms, down_ms }: { grace_ms: number; down_ms: number }): void {
    if (core === null || isKilled) return
    const stopping = core
    const stopped = running.process
    core = null
    door = null
    isStopping = true
    faulted.push(elapsedMs())
    const end = () => {
      if (stopped !== running.process) return
      trace('the service has stopped')
      kill(down_ms)
    }
    stopping.close({ grace_ms }).then(end, end)
  }

  const closing: { old: string; open: Connection[] }[] = []

  function bury(): void {
    for (const { old, open } of closing.splice(0)) {
      for (const one of open) if (one.open) one.close()
      for (const end of ['', '-wal', '-shm', '-dispatch']) rmSync(`${old}${end}`, { force: true })
    }
  }

  return {
    seed,
    count,
    trace,
    violate,
    nameOf,
    start: startAgain,
    kill,
    stop,
    lines,
    counted,
    faulted,
    get core() {
      return core
    },
    get door() {
      return door
    },
    get file() {
      return file
    },
    /** Whether the service is being stopped: it may answer with an error. */
    get isStopping() {
      return isStopping
    },
    get prices() {
      return settings.now.prices
    },
    /** The provider that the process lacks. */
    get without() {
      return settings.now.without
    },
    /** Lets time pass until the service has no work in flight. */
    async idle(): Promise<void> {
      let isIdle = false
      const end = () => {
        isIdle = true
      }
      dispatcher?.idle().then(end, end)
      while (!isIdle) await this.step()
    },
    /** Starts the service again with other settings. */
    configure(next: Settings): void {
      settings.next = next
      kill(50)
    },
    get settings() {
      return settings.next
    },
    get violation() {
      return broken
    },
    get process() {
      return running.process
    },
    hash: () => hash.digest('hex').slice(0, 16),
    onDeath: (death: () => void) => void deaths.push(death),
    /** One of the commits that follow fails, or kills the process. */
    failCommit: (in_commits: number, fault: CommitFault) => void faults.push({ in_commits, fault }),
    forgiveCommits: () => void faults.splice(0),
    /** Calls the service as a client that waits for the answer. */
    ask<T>(work: (core: Core) => Promise<T>): Promise<T | typeof UNANSWERED> {
      if (core === null) return Promise.resolve(UNANSWERED)
      const asked = running.process
      return new Promise((resolve, reject) => {
        deaths.push(() => resolve(UNANSWERED))
        work(core as Core).then(
          (value) => asked === running.process && resolve(value),
          (error) => asked === running.process && reject(error),
        )
      })
    },
    /** Runs the next timer and what follows from it. */
    async step(): Promise<void> {
      steps += 1
      if (steps > STEPS_MAX) violate('nothing is stuck', `after ${STEPS_MAX} timers`)
      clock.next()
      await settleTasks()
      bury()
      if (isDue) {
        isDue = false
        await startAgain()
      }
      if (broken) throw broken
    },
    /** Lets `ms` pass. */
    async pass(ms: number): Promise<void> {
      let isOver = false
      later(() => {
        isOver = true
      }, ms)
      while (!isOver) await this.step()
    },
    /** The machine sleeps, or the process is stopped: time passes, and no timer runs in between. */
    sleep(ms: number): void {
      faulted.push(elapsedMs())
      clock.jump(ms)
    },
    /** The machine is suspended: the timers of the process stand still meanwhile. */
    suspend(ms: number): void {
      faulted.push(elapsedMs())
      suspend(ms)
    },
    /** Sets the wall clock; no time elapses. */
    setClock(by_ms: number): void {
      clock.setSystemTime(Date.now() + by_ms)
    },
    async close(): Promise<void> {
      endProcess()
      core = null
      onCommit = null
      onFailedWrite = null
      await settleTasks()
      closing.push({ old: file, open: [...connections] })
      bury()
    },
  }
}

/** Reads the number of rows that a connection has changed. */
function totalOf(connection: Connection): () => number {
  const total = connection.prepare('select total_changes()').pluck()
  return () => total.get() as number
}

let opened: Set<Connection> | null = null
/** The writes that follow, of which the last fails, or the first one of a job that shares its transaction; 0: none fails. */
let failWrites = 0
const FEW_WRITES = 3
/** Within so many, most of the times one is of such a job. */
const MANY_WRITES = 60

/** The connections whose transaction runs a job after another one. */
const inSavepoint = new WeakSet<Connection>()

/** The statements that fail: those that a transaction runs after others. */
const LATE_WRITES = /^insert into (message_queue|delivery_queue) /

let onCommit: ((owner: Connection, commit: () => unknown) => unknown) | null = null

/** A write can fail long after its fault was planned: after a quiet time, or in the next process. */
let onFailedWrite: (() => void) | null = null

const { prepare, pragma } = Sqlite.prototype

Sqlite.prototype.pragma = function (this: Connection, ...values: [string]) {
  opened?.add(this)
  return pragma.apply(this, values)
}

Sqlite.prototype.prepare = function (this: Connection, text: string) {
  const statement = prepare.call(this, text)
  if (LATE_WRITES.test(text)) return failing(statement, this)
  const run = statement.run.bind(statement) as () => ReturnType<typeof statement.run>
  if (text === 'savepoint job' || text === 'release job' || text === 'begin immediate') {
    statement.run = () => {
      if (text === 'savepoint job') inSavepoint.add(this)
      else inSavepoint.delete(this)
      return run()
    }
  }
  if (text !== 'commit') return statement
  const owner = running.process
  statement.run = () =>
    (onCommit && owner === running.process ? onCommit(this, run) : run()) as ReturnType<typeof run>
  return statement
} as typeof prepare

/** A statement that fails once where the world says so, as on a disk that gets full within a transaction. */
function failing(statement: Statement, connection: Connection): Statement {
  const run = statement.run.bind(statement) as (
    ...values: unknown[]
  ) => ReturnType<typeof statement.run>
  const owner = running.process
  statement.run = (...values: unknown[]) => {
    if (failWrites > 0 && owner === running.process) {
      failWrites = inSavepoint.has(connection) ? 0 : failWrites - 1
      if (failWrites === 0) {
        onFailedWrite?.()
        throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' })
      }
    }
    return run(...values)
  }
  return statement
}

/** Makes the database that each seed begins with. */
export async function makeImage(
  options: Omit<CoreOptions, 'database_url' | 'runtime'>,
  fill: (core: Core) => Promise<void>,
): Promise<string> {
  restartClock()
  const image = `${FOLDER}/image-${options.secrets_keys?.length ?? 0}.db`
  const next = randomOf(1)
  const bytes = (size: number) => Buffer.from(Array.from({ length: size }, () => next() & 255))
  const now = () => new Date()
  const quiet = { debug() {}, info() {}, warn() {}, error() {} }
  const core = await settled(
    createCore({
      ...options,
      database_url: `file:${image}`,
      durability: 'none',
      threads: 0,
      accept_any_password: true,
      runtime: {
        now,
        elapsed: elapsedMs,
        id: idGenerator(now, bytes),
        bytes,
        random: () => next() / 2 ** 32,
        log: quiet,
      },
    }),
  )
  await fill(core)
  await settled(core.close({ grace_ms: 0 }))
  return image
}
