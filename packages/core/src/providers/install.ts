import { isDefinedProvider } from './defined/define-provider.ts'
import type { DefinedProvider } from './defined/definition.ts'
import {
  type InstalledProvider,
  installDefined,
  installModule,
  installSettings,
  SANDBOX,
} from './installed.ts'
import { faultOf, ruleText } from './parse.ts'
import { assertPackages, type ProviderSettingsInput, providerSettings } from './registry.ts'

/** A provider that sends in the threads of the pool, because each thread can load its module. */
export interface ProviderModule {
  /**
   * The `file:` URL of a JavaScript module, for example `new URL('./acme.js', import.meta.url)`. Its default export is a
   * provider of `defineProvider`, or a function that returns one.
   */
  module: URL | string
  /** The name that its provider must have. Default: any. */
  name?: string | undefined
  /** The argument of that function: plain data, which each thread receives as a copy. */
  settings?: unknown
}

/** A provider for `createCore`: settings of a built-in type, a defined provider, or the module of one. */
export type ProviderOption = ProviderSettingsInput | DefinedProvider | ProviderModule

/** The maximum number of providers. */
export const PROVIDERS_MAX = 50

/**
 * Checks the providers and loads their modules, in their order.
 * @throws RangeError that names the wrong option and its field, but no value; Error for a module that cannot be loaded, and for a package that is
 *   not installed.
 */
export async function installProviders(
  options: readonly ProviderOption[],
): Promise<InstalledProvider[]> {
  if (options.length > PROVIDERS_MAX) {
    throw new RangeError(`providers must have at most ${PROVIDERS_MAX} items`)
  }
  const installed: InstalledProvider[] = []
  for (const [i, option] of options.entries()) {
    const provider = await install(option, `providers[${i}]`)
    assertFree(provider.name, installed, `providers[${i}]`)
    installed.push(provider)
  }
  return installed
}

async function install(option: ProviderOption, place: string): Promise<InstalledProvider> {
  if (isDefinedProvider(option)) return installDefined(option)
  if (isModule(option)) return loaded(option, place)
  if (typeof option === 'object' && option !== null && 'send' in option && !('type' in option)) {
    throw new RangeError(`${place} must be made by defineProvider`)
  }
  const parsed = providerSettings.safeParse(option, { error: ruleText })
  if (!parsed.success) throw new RangeError(faultOf(parsed.error, place))
  assertPackages(parsed.data)
  return installSettings(parsed.data)
}

function isModule(option: ProviderOption): option is ProviderModule {
  return typeof option === 'object' && option !== null && 'module' in option
}

const MODULE_FIELDS: ReadonlySet<string> = new Set(['module', 'name', 'settings'])

async function loaded(option: ProviderModule, place: string): Promise<InstalledProvider> {
  const unknown = Object.keys(option).find((key) => !MODULE_FIELDS.has(key))
  if (unknown !== undefined) throw new RangeError(`${place}: Unknown field: ${unknown}`)
  const url = urlOf(option.module)
  if (url?.protocol !== 'file:') {
    throw new RangeError(
      `${place}.module must be a file: URL, for example new URL('./acme.js', import.meta.url)`,
    )
  }
  const settings = copyOf(option.settings, place)
  const provider = await installModule(url.href, settings).catch((error: unknown) => {
    const { message } = error instanceof Error ? error : new Error(String(error))
    throw new Error(`${place}.module cannot be used: ${message}`, { cause: error })
  })
  if (option.name === undefined || option.name === provider.name) return provider
  throw new RangeError(`${place}.name: the provider of the module is called ${provider.name}`)
}

function urlOf(module: unknown): URL | null {
  return URL.canParse(String(module)) ? new URL(String(module)) : null
}

function copyOf(settings: unknown, place: string): unknown {
  try {
    return structuredClone(settings)
  } catch {
    throw new RangeError(`${place}.settings must be plain data, which a thread can receive`)
  }
}

function assertFree(name: string, taken: readonly InstalledProvider[], place: string): void {
  if (name === SANDBOX.name) {
    throw new RangeError(`${place}.name: ${name} is reserved: the sandbox is always there`)
  }
  const other = taken.findIndex((one) => one.name === name)
  if (other !== -1) throw new RangeError(`${place}.name: ${name} is also providers[${other}].name`)
}
