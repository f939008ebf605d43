import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { verifyLedger } from '../../packages/core/src/maintenance/ledger/verify-ledger.ts'
import { systemRuntime } from '../../packages/core/src/runtime/runtime.ts'
import { connect } from '../../packages/core/src/storage/sqlite/engine/connection.ts'
import { openSqlite } from '../../packages/core/src/storage/sqlite/sqlite.ts'
import { openVictims } from '../crash/victim.ts'
import { getBytes, openConnection } from '../stage/connection.ts'
import { type Random, randomFrom } from '../stage/random.ts'
import { createDisk } from './disk.ts'
import { type Accepted, type Recording, record } from './recording.ts'
import { compileRecorder } from './records.ts'

export interface PowerCutOptions {
  /** The number of power cuts of a service on a working disk. */
  states: number
  /** The number of power cuts after a failed flush of the log. */
  failed_flushes: number
  /** The number of these states on which the built service starts. */
  served: number
  /** The number of messages that each recorded process accepts. */
  accepted: number
  /**
   * Determines the requests, the faults and the state after a power cut; the order of threads depends on the machine.
   */
  seed: number
  /** An empty folder for recordings and for states that break a promise. */
  folder: string
  progress(text: string): void
}

/** The results with one kind of recordings. */
export interface PowerCutResult {
  recordings: number
  /** The number of failed flushes. */
  failed_flushes: number
  states: number
  /** The number of states with unflushed data. */
  unsettled: number
  /** The number of look-ups of an acknowledged message. */
  checked: number
  /** The number of states on which the service was started. */
  served: number
  /** The broken promises of each broken state, and its folder. */
  broken: { folder: string; faults: string[] }[]
}

/** Lives after the first one: one with a working disk, so that states after a recovery are included. */
const LIVES = { works: 1, fails: 3 }

/** States of one recording: failed flushes differ more from each other than the moments after one. */
const STATES_PER_RECORDING = { works: 200, fails: 60 }

/** The maximum of consecutive recordings without a failed flush. */
const BARREN_MAX = 10

/** The number of changes after the start of a process that get more power cuts: they contain its recovery. */
const START_CHANGES = 120
const AT_START_PERCENT = 35

export async function cutPower(
  kind: 'works' | 'fails',
  options: PowerCutOptions,
): Promise<PowerCutResult> {
  const { seed, folder, progress } = options
  const target = kind === 'works' ? options.states : options.failed_flushes
  const result: PowerCutResult = {
    recordings: 0,
    failed_flushes: 0,
    states: 0,
    unsettled: 0,
    checked: 0,
    served: 0,
    broken: [],
  }
  const recorder = compileRecorder(folder)
  const random = randomFrom(seed)
  // Thousands of states are written and opened: in memory their flushes cost nothing.
  const scratch = await mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'svc-power-'))
  const clear = () => rmSync(scratch, { recursive: true, force: true, maxRetries: 3 })
  process.once('exit', clear)
  let barren = 0
  try {
    while (result.states < target) {
      const place = join(folder, `recording-${kind}-${result.recordings}`)
      mkdirSync(place)
      const recording = await record({
        folder: place,
        recorder,
        random,
        lives: LIVES[kind],
        fails: kind === 'fails',
        accepted: options.accepted,
      })
      rmSync(place, { recursive: true })
      result.recordings += 1
      const count = Math.min(STATES_PER_RECORDING[kind], target - result.states)
      const before = result.states
      await tryStates(recording, { kind, count, random, scratch, options, result })
      barren = result.states === before ? barren + 1 : 0
      if (barren === BARREN_MAX) throw new Error(`no flush failed in ${BARREN_MAX} recordings`)
      progress(
        `${result.states}/${target} states of ${result.recordings} recordings, ${result.broken.length} broken`,
      )
    }
    return result
  } finally {
    process.off('exit', clear)
    clear()
  }
}

interface Trial {
  kind: 'works' | 'fails'
  count: number
  random: Random
  scratch: string
  options: PowerCutOptions
  result: PowerCutResult
}

/** Replays the changes once, and stops at each power cut. */
async function tryStates(recording: Recording, trial: Trial): Promise<void> {
  const { kind, count, random, scratch, options, result } = trial
  const { changes, accepted } = recording
  const failed = changes.findIndex((change) => change.kind === 'flush failed')
  result.failed_flushes += changes.filter((change) => change.kind === 'flush failed').length
  const from = kind === 'works' ? 0 : failed + 1
  // The kill can come before the flush that should fail.
  if (kind === 'fails' && failed === -1) return
  const moments = Array.from({ length: count }, () => momentIn(recording, from, random))
  // One of them is between a write and its flush, where unflushed data is certain.
  const unflushed = [...changes.keys()].filter(
    (i) =>
      i > from &&
      changes[i]?.kind === 'flushed' &&
      changes[i - 1]?.kind === 'written' &&
      changes[i]?.name === changes[i - 1]?.name,
  )
  if (unflushed.length > 0) moments[0] = random.pick(unflushed)
  const disk = createDisk(random)
  let due = 0
  let done = 0
  for (const moment of moments.sort((a, b) => a - b)) {
    for (; done < moment; done++) disk.apply(changes[done] as (typeof changes)[number])
    // The power fails just before the end of the next change: all promises until then count.
    const until = changes[moment]?.at_ns
    while (due < accepted.length && (!until || (accepted[due] as Accepted).at_ns < until)) due += 1
    const files = disk.powerCut(random)
    writeState(scratch, files)
    const promised = accepted.slice(0, due)
    const faults = await faultsOf(scratch, promised)
    if (faults.length === 0 && result.served < options.served && promised.length > 0) {
      writeState(scratch, files)
      faults.push(...(await serve(scratch, promised, recording)))
      result.served += 1
    }
    result.states += 1
    result.checked += promised.length
    if (disk.isUnsettled()) result.unsettled += 1
    if (faults.length === 0) continue
    const kept = join(options.folder, `broken-${kind}-${result.broken.length}`)
    writeState(kept, files)
    result.broken.push({ folder: kept, faults })
  }
}

function momentIn({ changes, starts }: Recording, from: number, random: Random): number {
  const later = starts.filter((start) => start >= from)
  if (later.length > 0 && random.percent(AT_START_PERCENT)) {
    return Math.min(random.pick(later) + random.between(0, START_CHANGES), changes.length)
  }
  return random.between(from, changes.length + 1)
}

/** Starts the service on a state and requests each message. */
async function serve(
  folder: string,
  due: readonly Accepted[],
  { accounts }: Recording,
): Promise<string[]> {
  const entry = fileURLToPath(new URL('./server.mjs', import.meta.url))
  const victim = await openVictims({ folder, entry, node_args: [] }).start()
  const connection = await openConnection(victim.url)
  const faults: string[] = []
  try {
    for (const { message_id, account, mode } of due) {
      const { status } = await connection.request(
        getBytes(victim.url, `/api/v1/messages/${message_id}`, accounts[account]?.keys[mode]),
      )
      if (status !== 200) faults.push(`the service answers ${status} for message ${message_id}`)
    }
    return faults
  } finally {
    connection.close()
    await victim.kill()
  }
}

const FILE = 'svc.db'
const EXAMPLES_MAX = 3

function writeState(folder: string, files: ReadonlyMap<string, Buffer>): void {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const [name, bytes] of files) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), bytes)
  }
}

/** Opens a state after a power cut as the service does, and returns the broken promises. */
async function faultsOf(folder: string, due: readonly Accepted[]): Promise<string[]> {
  const file = join(folder, FILE)
  try {
    const storage = openSqlite(file, systemRuntime())
    await storage.close()
    const faults = [...missingFrom(file, due)]
    const { ok, differences } = await verifyLedger(`file:${file}`)
    if (!ok) faults.push(`the ledger does not add up: ${JSON.stringify(differences.slice(0, 3))}`)
    return faults
  } catch (error) {
    return [`the database cannot be used: ${(error as Error).message}`]
  }
}

function missingFrom(file: string, due: readonly Accepted[]): string[] {
  const database = connect(file, { readonly: true })
  try {
    const list = (sql: string) => database.prepare(sql).pluck().all() as string[]
    const damage = list('pragma integrity_check').filter((text) => text !== 'ok')
    const messages = new Set(list('select id from messages'))
    const debits = new Map<string, number>()
    for (const id of list("select ref_id from ledger_entries where kind = 'send'")) {
      debits.set(id, (debits.get(id) ?? 0) + 1)
    }
    const lost = due.filter(({ message_id }) => !messages.has(message_id))
    const wrong = due.filter(
      ({ message_id, mode }) => (debits.get(message_id) ?? 0) !== (mode === 'live' ? 1 : 0),
    )
    return [
      ...damage.slice(0, EXAMPLES_MAX).map((text) => `the file is damaged: ${text}`),
      ...violation('are lost', lost, due),
      ...violation('are not debited exactly once', wrong, due),
    ]
  } finally {
    database.close()
  }
}

function violation(what: string, found: readonly Accepted[], due: readonly Accepted[]): string[] {
  if (found.length === 0) return []
  const examples = found.slice(0, EXAMPLES_MAX).map(({ message_id }) => message_id)
  return [`${found.length} of ${due.length} acknowledged messages ${what}: ${examples.join(', ')}`]
}
