import { parentPort, workerData } from 'node:worker_threads'
import type { LookupJob, SendJob } from '../contract/outside/provider.ts'
import { openSource } from '../providers/installed.ts'
import type { DeliverJob } from '../webhooks/deliver.ts'
import {
  createCallGate,
  createPerformer,
  createProviders,
  type PerformerSettings,
} from './performer.ts'

// Loaded with the thread, so that its first delivery does not wait.
await import('../webhooks/deliver.ts')

const settings = workerData as PerformerSettings
const { mayStart, noteCall } = createCallGate(settings.gate_names ?? [], settings.gate)
const performer = createPerformer({
  now: () => new Date(),
  targets: settings.targets,
  mayStart,
  providers: createProviders({
    ...settings,
    mayStart,
    noteCall,
    providers: settings.providers.map((source) => ({
      name: source.name,
      open: openSource(source),
    })),
    onFault: (fault) => parentPort?.postMessage(fault),
  }),
})

// The functions that the pool runs by name. A thread holds no database handle and no state except its connections.
export const send = ({ provider, jobs, start_by_ms }: SendTask) =>
  performer.send(provider, jobs, start_by_ms)
export const lookup = ({ provider, jobs }: { provider: string; jobs: LookupJob[] }) =>
  performer.lookup(provider, jobs)
export const deliver = ({ jobs, start_by_ms }: DeliverTask) => performer.deliver(jobs, start_by_ms)

interface DeliverTask {
  jobs: DeliverJob[]
  start_by_ms: number
}

interface SendTask {
  provider: string
  jobs: SendJob[]
  start_by_ms: number
}
