import type { InstalledProvider } from '../providers/installed.ts'
import type { Runtime } from '../runtime/runtime.ts'
import {
  createPerformer,
  type createProviders,
  type MayStart,
  type Performer,
  type PerformerSettings,
} from './performer.ts'

/** The providers of this thread, and the settings from which other threads open their providers. */
export interface OpenedProviders {
  installed: readonly InstalledProvider[]
  settings: PerformerSettings
  providers: ReturnType<typeof createProviders>
  /** The same providers, whose calls begin during a pause too: an operator tries them. */
  trials: ReturnType<typeof createProviders>
  mayStart: MayStart
}

/**
 * Opens a performer with `threads` threads; with 0 it works in this thread, as providers that hold a connection and those
 * that other threads cannot open always do.
 */
export async function openPerformer(
  { now, log, telemetry }: Runtime,
  threads: number,
  { installed, settings, providers, mayStart }: OpenedProviders,
): Promise<Performer> {
  const here = createPerformer({ now, targets: settings.targets, providers, mayStart })
  if (threads === 0) return here
  const { createPool } = await import('./pool.ts')
  const ofThisThread = installed.filter(({ source, traits }) => source === null || traits.connected)
  const names = new Set(ofThisThread.map(({ name }) => name))
  return createPool({
    threads,
    log,
    telemetry,
    settings,
    here,
    isHere: (name) => names.has(name),
  })
}
