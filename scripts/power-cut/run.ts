import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openConnection, requestBytes } from '../../bench/connection.ts'
import { type Random, randomFrom } from '../crash/random.ts'
import { openVictims } from '../crash/victim.ts'
import { faultsOf, writeState } from './check-state.ts'
import { createDisk } from './disk.ts'
import { type Accepted, type Recording, record } from './recording.ts'
import { compileRecorder } from './records.ts'

export interface PowerCutOptions {
  /** How many power cuts are tried of a service whose disk works. */
  states: number
  /** How many are tried after a flush of the log has failed. */
  failed_flushes: number
  /** How many of all these the built service is started on. */
  served: number
  /** How many messages each recorded process accepts. */
  accepted: number
  /** Decides what is sent, what fails and what a power cut leaves; the order of threads is up to the machine. */
  seed: number
  /** An empty folder for recordings and for the states that break a promise. */
  folder: string
  progress(text: string): void
}

/** What was found with one kind of recordings. */
export interface PowerCutResult {
  recordings: number
  /** How many flushes failed. */
  failed_flushes: number
  states: number
  /** In how many of them something was not yet flushed. */
  unsettled: number
  /** How many times an acknowledged message was looked for. */
  checked: number
  /** How many states the service was started on. */
  served: number
  /** What each broken state breaks, and where it was kept. */
  broken: { folder: string; faults: string[] }[]
}

/** Lives that follow on the first one: one where the disk works, so that states after a recovery are among them. */
const LIVES = { works: 1, fails: 3 }

/** So many are tried of one recording: failed flushes differ more from each other than the moments after one. */
const STATES_PER_RECORDING = { works: 200, fails: 60 }

/** So many recordings in a row may have no flush that failed. */
const BARREN_MAX = 10

/** So many changes from the start of a process on are looked at closely: what it finds is recovered in them. */
const START_CHANGES = 120
const AT_START_PERCENT = 35

export async function cutPower(
  kind: 'works' | 'fails',
  options: PowerCutOptions,
): Promise<PowerCutResult> {
  const { seed, folder, progress } = options
  const wanted = kind === 'works' ? options.states : options.failed_flushes
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
  // States are written and opened by the thousand: in memory their flushes cost nothing.
  const scratch = await mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'svc-power-'))
  const clear = () => rmSync(scratch, { recursive: true, force: true, maxRetries: 3 })
  process.once('exit', clear)
  let barren = 0
  try {
    while (result.states < wanted) {
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
      const count = Math.min(STATES_PER_RECORDING[kind], wanted - result.states)
      const before = result.states
      await tryStates(recording, { kind, count, random, scratch, options, result })
      barren = result.states === before ? barren + 1 : 0
      if (barren === BARREN_MAX) throw new Error(`no flush failed in ${BARREN_MAX} recordings`)
      progress(
        `${result.states}/${wanted} states of ${result.recordings} recordings, ${result.broken.length} broken`,
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

/** Plays the changes once, and stops for each power cut. */
async function tryStates(recording: Recording, trial: Trial): Promise<void> {
  const { kind, count, random, scratch, options, result } = trial
  const { changes, accepted } = recording
  const failed = changes.findIndex((change) => change.kind === 'flush failed')
  result.failed_flushes += changes.filter((change) => change.kind === 'flush failed').length
  const from = kind === 'works' ? 0 : failed + 1
  // The service can be killed before the flush that was to fail.
  if (kind === 'fails' && failed === -1) return
  const moments = Array.from({ length: count }, () => momentIn(recording, from, random))
  const disk = createDisk(random)
  let due = 0
  let done = 0
  for (const moment of moments.sort((a, b) => a - b)) {
    for (; done < moment; done++) disk.apply(changes[done] as (typeof changes)[number])
    // The power fails just before the next change is over: all that was promised until then counts.
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

/** Starts the service on a state and asks it for each message. */
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
        requestBytes(victim.url, {
          method: 'GET',
          path: `/api/v1/messages/${message_id}`,
          headers: { 'X-API-Key': accounts[account]?.keys[mode] ?? '' },
        }),
      )
      if (status !== 200) faults.push(`the service answers ${status} for message ${message_id}`)
    }
    return faults
  } finally {
    connection.close()
    await victim.kill()
  }
}
