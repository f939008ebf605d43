import { workerData } from 'node:worker_threads'
import type { LookupJob, SendJob } from '../providers/provider.ts'
import type { DeliverJob } from '../webhooks/deliver.ts'
import type { TargetPolicy } from '../webhooks/target.ts'
import { createPerformer } from './performer.ts'

const performer = createPerformer({
  now: () => new Date(),
  targets: workerData as TargetPolicy,
})

// What a thread of the pool runs, by name. A thread holds no database handle and no state.
export const send = ({ provider, jobs }: { provider: string; jobs: SendJob[] }) =>
  performer.send(provider, jobs)
export const lookup = ({ provider, jobs }: { provider: string; jobs: LookupJob[] }) =>
  performer.lookup(provider, jobs)
export const deliver = ({ jobs }: { jobs: DeliverJob[] }) => performer.deliver(jobs)
