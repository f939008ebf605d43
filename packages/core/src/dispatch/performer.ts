import type { LookupJob, Outcome, Provider, SendJob } from '../contract/outside/provider.ts'
import type { ProviderFault } from '../providers/defined/definition.ts'
import type { InstalledProvider, ProviderSource } from '../providers/installed.ts'
import type { LookupAnswer } from '../rules/settlement.ts'
import type { Log, Runtime } from '../runtime/runtime.ts'
import type { DeliverAnswer, Deliverer, DeliverJob } from '../webhooks/deliver.ts'
import type { TargetPolicy } from '../webhooks/target.ts'
import { uptimeMs } from './lane.ts'
import { withTexts } from './mail-files.ts'

/**
 * Runs jobs without a database. Jobs and results are plain data, and the results have the order of the jobs. Production
 * uses a pool of threads, and tests use the calling thread.
 */
export interface Performer {
  /**
   * Sends a batch. Returns null if the batch did not start by `start_by_ms` (in `uptimeMs`), because the lease may have ended,
   * or if sending is paused: the provider was not called.
   */
  send(provider: string, jobs: readonly SendJob[], start_by_ms: number): Promise<Outcome[] | null>
  /** Looks up a batch. Each is `not_begun`, without a request, while everything is paused or the pauses were not read for too long. */
  lookup(provider: string, jobs: readonly LookupJob[]): Promise<LookupAnswer[]>
  /** Delivers a batch. Returns null in the same case as `send`; the answer of a job is null if its request did not begin. */
  deliver(
    jobs: readonly DeliverJob[],
    start_by_ms: number,
  ): Promise<(DeliverAnswer | null)[] | null>
  close(): Promise<void>
}

/** Settings as plain data, because each thread gets a copy. */
export interface PerformerSettings {
  targets: TargetPolicy
  /** The providers that other threads can open. */
  providers: readonly ProviderSource[]
  /** The public URL of the service, without a slash at its end. */
  public_url: string
  /** The secret with which providers sign. */
  secret: string
  /** The memory of the call gate; without it, every call may begin. */
  gate?: SharedArrayBuffer
  /** The providers of the call gate, in its order. */
  gate_names?: readonly string[]
}

export type MayStart = CallGate['mayStart']

/** Opens a provider of this thread once, at its first use. */
export type Providers = (name: string) => Promise<Provider>

/** Opens providers by name. @throws Error for a name that is not among them. */
export function createProviders({
  providers,
  public_url,
  secret,
  mayStart = () => true,
  noteCall = () => {},
  onFault,
}: Pick<PerformerSettings, 'public_url' | 'secret'> & {
  providers: readonly Pick<InstalledProvider, 'name' | 'open'>[]
  mayStart?: MayStart
  noteCall?: CallGate['noteCall']
  /** Receives the faults of providers that are not ours. */
  onFault: (fault: ProviderFault) => void
}): {
  open: Providers
  close(): Promise<void>
} {
  const known = new Map(providers.map((one) => [one.name, one]))
  const opened = new Map<string, Promise<Provider>>()
  return {
    open(name) {
      const found = known.get(name)
      if (!found) return Promise.reject(new Error(`there is no provider named ${name}`))
      const callback_url = `${public_url}/callbacks/${name}`
      const context = {
        public_url,
        callback_url,
        secret,
        may_start: () => mayStart(name),
        note_call: (duration_ms: number) => noteCall(name, duration_ms),
      }
      const opening = opened.get(name) ?? found.open(context, onFault)
      opened.set(name, opening)
      // After a failure, the next use tries again.
      opening.catch(() => opened.get(name) === opening && opened.delete(name))
      return opening
    },
    async close() {
      await Promise.allSettled([...opened.values()].map(async (one) => (await one).close?.()))
    },
  }
}

let delivering: Promise<typeof import('../webhooks/deliver.ts')> | null = null

/** Loads the HTTP client at the first delivery of the process: a program that dispatches nothing does not need it. */
function loadDelivering() {
  delivering ??= import('../webhooks/deliver.ts')
  return delivering
}

/** Runs jobs in the calling thread. */
export function createPerformer({
  now,
  targets,
  providers,
  mayStart = () => true,
  network,
}: {
  now: () => Date
  mayStart?: MayStart
  targets: TargetPolicy
  providers: { open: Providers; close(): Promise<void> }
  network?: Runtime['network']
}): Performer {
  let loading: Promise<Deliverer> | null = null

  async function load(): Promise<Deliverer> {
    const { createDeliverer } = await loadDelivering()
    return createDeliverer({ now, targets, network, may_start: () => mayStart(null) })
  }

  return {
    async send(name, jobs, start_by_ms) {
      const provider = await providers.open(name)
      const at_ms = uptimeMs()
      if (at_ms > start_by_ms || !mayStart(name, at_ms)) return null
      // Only mails have files.
      return provider.send(jobs.map((job) => (job.channel === 'email' ? withTexts(job) : job)))
    },
    async lookup(name, jobs) {
      const provider = await providers.open(name)
      if (!provider.lookup) return jobs.map(() => ({ type: 'unavailable' }))
      return mayStart(null) ? provider.lookup(jobs) : jobs.map(() => ({ type: 'not_begun' }))
    },
    async deliver(jobs, start_by_ms) {
      loading ??= load()
      const deliverer = await loading
      const at_ms = uptimeMs()
      return at_ms > start_by_ms || !mayStart(null, at_ms) ? null : deliverer.deliver(jobs)
    },
    async close() {
      await Promise.all([loading?.then((deliverer) => deliverer.close()), providers.close()])
    },
  }
}

/** A call may begin for this time after the pauses were read. After it, this process may have missed a pause. */
export const FRESH_MS = 5_000

/**
 * Decides in every thread whether a call may begin now, and counts the calls of all threads. Each process reads the pauses
 * every second, and when it pauses something itself, and writes here what it read; the threads read the same memory. It is
 * asked right before a call, because the lanes read a pause only before they claim, and a hand-over needs no claim. A
 * process that did not read for `FRESH_MS`, because it stood still or lost its database, begins nothing: so `FRESH_MS`
 * after a pause was stored, no server of the database begins a call.
 */
interface CallGate {
  cells: SharedArrayBuffer
  /** Whether a call to the provider may begin; null: a webhook delivery. @param at_ms the `uptimeMs`, if it is known */
  mayStart(provider: string | null, at_ms?: number): boolean
  /** Notes a reading that began at `read_at_ms` (`uptimeMs`). */
  noteDispatch(read_at_ms: number, is_paused: boolean): void
  noteProviders(read_at_ms: number, isPaused: (provider: string) => boolean): void
  /** Counts a request to the provider that has ended, from any thread. */
  noteCall(provider: string, duration_ms: number): void
  /** The requests of all threads: their number and their durations together. Both numbers have 32 bits and wrap. */
  callsOf(provider: string): CallCount
}

export interface CallCount {
  calls: number
  took_ms: number
}

const DISPATCH_UNTIL = 0
const PROVIDERS_UNTIL = 1
const FIRST_PROVIDER = 2

/** @param cells those of the gate in the main thread; without them, nothing was read yet and everything may begin. */
export function createCallGate(names: readonly string[], cells = newCells(names)): CallGate {
  const places_max = FIRST_PROVIDER + names.length
  const values = new Float64Array(cells, 0, places_max)
  /** Of each provider: the number of requests and their milliseconds. */
  const counts = new Int32Array(cells, places_max * Float64Array.BYTES_PER_ELEMENT)
  const places = new Map(names.map((name, i) => [name, FIRST_PROVIDER + i]))
  return {
    cells,
    mayStart(provider, at_ms = uptimeMs()) {
      if (at_ms >= (values[DISPATCH_UNTIL] as number)) return false
      if (provider === null) return true
      const place = places.get(provider)
      return at_ms < (values[PROVIDERS_UNTIL] as number) && (!place || values[place] === 0)
    },
    noteDispatch(read_at_ms, is_paused) {
      values[DISPATCH_UNTIL] = is_paused ? 0 : read_at_ms + FRESH_MS
    },
    noteProviders(read_at_ms, isPaused) {
      for (const [name, place] of places) values[place] = isPaused(name) ? 1 : 0
      values[PROVIDERS_UNTIL] = read_at_ms + FRESH_MS
    },
    noteCall(provider, duration_ms) {
      const at = 2 * ((places.get(provider) ?? Number.NaN) - FIRST_PROVIDER)
      if (Number.isNaN(at)) return
      Atomics.add(counts, at, 1)
      Atomics.add(counts, at + 1, Math.round(duration_ms))
    },
    callsOf(provider) {
      const at = 2 * ((places.get(provider) ?? Number.NaN) - FIRST_PROVIDER)
      if (Number.isNaN(at)) return { calls: 0, took_ms: 0 }
      return { calls: Atomics.load(counts, at), took_ms: Atomics.load(counts, at + 1) }
    },
  }
}

function newCells(names: readonly string[]): SharedArrayBuffer {
  const floats = Float64Array.BYTES_PER_ELEMENT * (FIRST_PROVIDER + names.length)
  const counts = 2 * Int32Array.BYTES_PER_ELEMENT * names.length
  const cells = new SharedArrayBuffer(floats + counts)
  new Float64Array(cells, 0, FIRST_PROVIDER).fill(Number.POSITIVE_INFINITY)
  return cells
}

/** Logs that the code of a provider broke a promise; the text of an exception is not part of the fault. */
export function logProviderFault(log: Log, fault: ProviderFault): void {
  log.error({ ...fault }, 'the code of a provider failed')
}
