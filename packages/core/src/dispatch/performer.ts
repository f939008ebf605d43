import type {
  LookupJob,
  LookupResult,
  Outcome,
  Provider,
  SendJob,
} from '../contract/outside/provider.ts'
import type { ProviderFault } from '../providers/defined/definition.ts'
import type { InstalledProvider, ProviderSource } from '../providers/installed.ts'
import type { DeliverAnswer, Deliverer, DeliverJob } from '../webhooks/deliver.ts'
import type { TargetPolicy } from '../webhooks/target.ts'
import type { CallGate } from './call-gate.ts'
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
  lookup(provider: string, jobs: readonly LookupJob[]): Promise<LookupResult[]>
  /** Delivers a batch. Returns null in the same case as `send`. */
  deliver(jobs: readonly DeliverJob[], start_by_ms: number): Promise<DeliverAnswer[] | null>
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

/** Runs jobs in the calling thread. */
export function createPerformer({
  now,
  targets,
  providers,
  mayStart = () => true,
}: {
  now: () => Date
  mayStart?: MayStart
  targets: TargetPolicy
  providers: { open: Providers; close(): Promise<void> }
}): Performer {
  let loading: Promise<Deliverer> | null = null

  /** Loads the HTTP client at the first delivery: a program that dispatches nothing does not need it. */
  async function load(): Promise<Deliverer> {
    const { createDeliverer } = await import('../webhooks/deliver.ts')
    return createDeliverer({ now, targets })
  }

  return {
    async send(name, jobs, start_by_ms) {
      const provider = await providers.open(name)
      return uptimeMs() > start_by_ms || !mayStart(name) ? null : provider.send(jobs.map(withTexts))
    },
    async lookup(name, jobs) {
      const provider = await providers.open(name)
      return provider.lookup
        ? provider.lookup(jobs)
        : jobs.map(() => ({ type: 'unavailable' as const }))
    },
    async deliver(jobs, start_by_ms) {
      loading ??= load()
      const deliverer = await loading
      return uptimeMs() > start_by_ms || !mayStart(null) ? null : deliverer.deliver(jobs)
    },
    async close() {
      await Promise.all([loading?.then((deliverer) => deliverer.close()), providers.close()])
    },
  }
}
