import { existsSync, mkdirSync, realpathSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createOperations } from '../crash/operations.ts'
import { openReceiver } from '../crash/receiver.ts'
import { startTraffic } from '../crash/traffic.ts'
import { openVictims, type Victim } from '../crash/victim.ts'
import { type Account, openAccounts } from '../stage/accounts.ts'
import type { Random } from '../stage/random.ts'
import { until } from '../stage/until.ts'
import { type Change, readChanges } from './records.ts'

/** The changes of successive services on one data folder, and the promises to their callers. */
export interface Recording {
  changes: Change[]
  /** The index in `changes` at which each process began. */
  starts: number[]
  /** Every 201, in order, with its arrival by the monotonic clock. */
  accepted: Accepted[]
  accounts: readonly Account[]
}

export interface Accepted {
  message_id: string
  account: number
  mode: 'live' | 'test'
  at_ns: bigint
}

export interface RecordOptions {
  /** An empty folder. */
  folder: string
  /** The recorder's library. */
  recorder: string
  random: Random
  /** The number of processes after the first one. */
  lives: number
  /** Whether a flush of the log fails in the second process and in some later ones, but not in the last. */
  fails: boolean
  /** The messages that each process accepts before its kill; a failed flush ends a process earlier. */
  accepted: number
}

const CONNECTIONS = 8
/** Enough for load, and few enough for a database that is copied hundreds of times. */
const BACKLOG_MAX = 200
const LIFE_MAX_MS = 60_000
/** A start flushes the log a few times, and each further flush has a few messages. */
const FLUSHES = { min: 1, max: 90 }

export async function record(options: RecordOptions): Promise<Recording> {
  const { folder, random } = options
  const data = join(realpathSync(folder), 'data')
  mkdirSync(data)
  const log = join(folder, 'changes')
  const receiver = await openReceiver({ flaky: false })
  const accepted: Accepted[] = []
  const starts: number[] = []

  /** Starts the next process; null if it ends before it listens, as after a failed flush. */
  async function start(fails: boolean): Promise<Victim | null> {
    starts.push(existsSync(log) ? statSync(log).size : 0)
    const flush = random.between(FLUSHES.min, FLUSHES.max)
    const victims = openVictims({
      folder: data,
      entry: fileURLToPath(new URL('./server.mjs', import.meta.url)),
      node_args: [],
      env: {
        LD_PRELOAD: options.recorder,
        SVC_RECORD_FOLDER: data,
        SVC_RECORD_LOG: log,
        ...(fails && { SVC_RECORD_FAIL: `-wal:${flush}` }),
      },
    })
    if (!fails) return victims.start()
    return victims.start().catch(() => null)
  }

  try {
    let victim = await start(false)
    const accounts = await openAccounts(victim?.url ?? '', receiver)
    const traffic = startTraffic({
      operations: createOperations(random, { accounts: accounts.length, slow: 0 }),
      accounts,
      random,
      connections: CONNECTIONS,
      finished: receiver.finished,
      backlog_max: BACKLOG_MAX,
      onAccepted(message_id, { account, mode }) {
        accepted.push({ message_id, account, mode, at_ns: process.hrtime.bigint() })
      },
    })
    try {
      let fails = false
      for (let life = 0; life <= options.lives; life++) {
        const enough = fails ? Infinity : traffic.accepted() + options.accepted
        if (victim) await live(victim, { traffic, enough })
        if (life === options.lives) break
        const isLast = life + 1 === options.lives
        fails = options.fails && !isLast && (life === 0 || random.percent(50))
        victim = await start(fails)
      }
    } finally {
      await traffic.finish()
      await victim?.kill()
    }
    const changes = readChanges(log)
    const first = (from: number) => changes.findIndex(({ log_at }) => log_at >= from)
    return { changes, starts: starts.map(first).filter((at) => at >= 0), accepted, accounts }
  } finally {
    await receiver.close()
  }
}

/** Lets a process accept enough messages or end on its own, and kills it. */
async function live(
  victim: Victim,
  { traffic, enough }: { traffic: ReturnType<typeof startTraffic>; enough: number },
): Promise<void> {
  let isOver = false
  victim.ended.then(() => {
    isOver = true
  })
  traffic.aim([victim.url])
  await until(() => isOver || traffic.accepted() >= enough, { max_ms: LIFE_MAX_MS, every_ms: 5 })
  traffic.aim([])
  await victim.kill()
}
