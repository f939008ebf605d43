import { createHmac } from 'node:crypto'
import type { Provider, ProviderContext, Traits } from '../contract/outside/provider.ts'
import { isDefinedProvider } from './defined/define-provider.ts'
import type { DefinedProvider, ProviderFault } from './defined/definition.ts'
import { openProvider, type ProviderSettings, traitsOf } from './registry.ts'

/** A provider of a service: a built-in type with settings, or code of the embedding program. */
export interface InstalledProvider {
  readonly name: string
  /** The built-in type; `custom` for code. */
  readonly type: string
  readonly traits: Traits
  /** From which other threads open the provider; null: it works in this thread. */
  readonly source: ProviderSource | null
  open: OpenProvider
}

/** Opens a provider in this thread. `onFault` receives the faults of code that is not ours. */
type OpenProvider = (
  context: ProviderContext,
  onFault: (fault: ProviderFault) => void,
) => Promise<Provider>

/** Plain data from which any thread opens a provider. */
export type ProviderSource =
  | { name: string; from: 'settings'; settings: ProviderSettings }
  /** `url` is that of a module whose default export is a defined provider, or makes one from `settings`. */
  | { name: string; from: 'module'; url: string; settings?: unknown }

/** A built-in provider with these settings. */
export function installSettings(settings: ProviderSettings): InstalledProvider {
  const source = { name: settings.name, from: 'settings', settings } as const
  const { name, type } = settings
  return { name, type, traits: traitsOf(settings), source, open: openSource(source) }
}

/** A provider of the embedding program, for this thread alone. */
export function installDefined(provider: DefinedProvider): InstalledProvider {
  const { name, traits } = provider
  return { name, type: 'custom', traits, source: null, open: openDefined(provider) }
}

/**
 * A provider of a module, which is loaded now for its traits.
 * @throws Error if the module cannot be loaded, or makes no provider.
 */
export async function installModule(url: string, settings?: unknown): Promise<InstalledProvider> {
  const provider = await loadModule(url, settings)
  const { name, traits } = provider
  const source = { name, from: 'module', url, settings } as const
  return { name, type: 'custom', traits, source, open: openDefined(provider) }
}

/**
 * The provider for test keys, and for channels without another provider. It makes no calls, so it has no source: a hop to a
 * thread would cost more than its work.
 */
export const SANDBOX: InstalledProvider = {
  ...installSettings({ type: 'sandbox', name: 'sandbox' }),
  source: null,
}

/** How a thread opens the provider of a source. */
export function openSource(source: ProviderSource): OpenProvider {
  if (source.from === 'settings') return (context) => openProvider(source.settings, context)
  return async (context, onFault) =>
    openDefined(await loadModule(source.url, source.settings))(context, onFault)
}

function openDefined(provider: DefinedProvider): OpenProvider {
  return async ({ secret, ...context }, onFault) => {
    // A secret of its own: the service signs other values with `secret`, too.
    const own = createHmac('sha256', secret).update(`provider ${provider.name}`).digest('hex')
    return provider.open({ ...context, secret: own }, onFault)
  }
}

async function loadModule(url: string, settings: unknown): Promise<DefinedProvider> {
  const { default: made } = (await import(/* @vite-ignore */ url)) as { default?: unknown }
  if (typeof made !== 'function' && settings !== undefined) {
    throw new TypeError('the default export takes no settings, because it is no function')
  }
  const provider: unknown = typeof made === 'function' ? await made(settings) : made
  if (isDefinedProvider(provider)) return provider
  throw new TypeError(
    'the default export must be a provider of defineProvider, or a function that returns one',
  )
}
