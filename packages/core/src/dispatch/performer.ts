import type { LookupJob, LookupResult, Outcome, Provider, SendJob } from '../providers/provider.ts'
import { loadProvider } from '../providers/registry.ts'
import { createDeliverer, type DeliverAnswer, type DeliverJob } from '../webhooks/deliver.ts'
import type { TargetPolicy } from '../webhooks/target.ts'

/**
 * Who does the work that the dispatcher hands out: plain data in, plain data out, positional, no database. In
 * production a pool of threads, in tests this process.
 */
export interface Performer {
  send(provider: string, jobs: readonly SendJob[]): Promise<Outcome[]>
  lookup(provider: string, jobs: readonly LookupJob[]): Promise<LookupResult[]>
  deliver(jobs: readonly DeliverJob[]): Promise<DeliverAnswer[]>
  close(): Promise<void>
}

/** Does the work where it is called. */
export function createPerformer({
  now,
  targets,
}: {
  now: () => Date
  targets: TargetPolicy
}): Performer {
  const providers = new Map<string, Promise<Provider>>()
  const deliverer = createDeliverer({ now, targets })

  function provider(name: string): Promise<Provider> {
    const loading = providers.get(name) ?? loadProvider(name)
    providers.set(name, loading)
    return loading
  }

  return {
    async send(name, jobs) {
      return (await provider(name)).send(jobs)
    },
    async lookup(name, jobs) {
      const { lookup } = await provider(name)
      return lookup ? lookup(jobs) : jobs.map(() => ({ type: 'unavailable' }))
    },
    deliver: deliverer.deliver,
    close: deliverer.close,
  }
}
