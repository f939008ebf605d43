import { traitsOf } from '../providers/registry.ts'
import type { Runtime } from '../runtime/runtime.ts'
import {
  createPerformer,
  type createProviders,
  type Performer,
  type PerformerSettings,
} from './performer.ts'

/** The providers of this thread, and the settings from which other threads open theirs. */
export interface OpenedProviders {
  settings: PerformerSettings
  providers: ReturnType<typeof createProviders>
}

/** Works in `threads` threads, or with 0 in this thread. Providers that hold a connection always run in this thread. */
export async function openPerformer(
  { now, log, telemetry }: Runtime,
  threads: number,
  { settings, providers }: OpenedProviders,
): Promise<Performer> {
  const here = createPerformer({ now, targets: settings.targets, providers })
  if (threads === 0) return here
  const { createPool } = await import('./pool.ts')
  const connected = settings.providers.filter((provider) => traitsOf(provider).connected)
  const names = new Set<string>(connected.map(({ name }) => name))
  return createPool({
    threads,
    log,
    telemetry,
    settings,
    here,
    isHere: (name) => names.has(name),
  })
}
