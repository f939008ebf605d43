import { SANDBOX, traitsOf } from '../providers/registry.ts'
import type { Runtime } from '../runtime/runtime.ts'
import {
  createPerformer,
  type createProviders,
  type Performer,
  type PerformerSettings,
} from './performer.ts'

/** The providers of this thread, and the settings from which other threads open their providers. */
export interface OpenedProviders {
  settings: PerformerSettings
  providers: ReturnType<typeof createProviders>
}

/**
 * Opens a performer with `threads` threads; with 0 it works in this thread, as providers that hold a connection and the
 * sandbox always do. The sandbox makes no calls, so that a hop to a thread would cost more than its work.
 */
export async function openPerformer(
  { now, log, telemetry }: Runtime,
  threads: number,
  { settings, providers }: OpenedProviders,
): Promise<Performer> {
  const here = createPerformer({ now, targets: settings.targets, providers })
  if (threads === 0) return here
  const { createPool } = await import('./pool.ts')
  const connected = settings.providers.filter((provider) => traitsOf(provider).connected)
  const names = new Set<string>([SANDBOX.name, ...connected.map(({ name }) => name)])
  return createPool({
    threads,
    log,
    telemetry,
    settings,
    here,
    isHere: (name) => names.has(name),
  })
}
