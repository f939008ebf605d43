import * as z from 'zod'
import type { Provider, ProviderContext, Traits } from '../contract/outside/provider.ts'
import { assertInstalled } from '../runtime/optional-packages.ts'
import type { ProviderType } from './common-settings.ts'
import * as types from './types.ts'

/** The schemas of the settings of all built-in providers. */
export type Schema = (typeof types)[keyof typeof types]['settings']

/** The settings of a provider: plain data that other threads can receive. `type` names the kind of provider. */
export type ProviderSettings = z.output<Schema>

/** The settings of a provider as an operator writes them: settings with a default may be absent. */
export type ProviderSettingsInput = z.input<Schema>

const [first, ...others] = Object.values(types).map(({ settings }): Schema => settings)

/** The settings of one provider, as the operator writes them. */
export const providerSettings = z.discriminatedUnion('type', [first as Schema, ...others])

const TYPES = new Map(
  Object.values(types).map((one): [string, object] => [one.settings.shape.type.value, one]),
)

/** The traits that follow from the settings alone. */
export function traitsOf(settings: ProviderSettings): Traits {
  return typeOf(settings).traits(settings)
}

/** Whether the provider reports by HTTP requests to the service. */
export function makesCallbacks(settings: ProviderSettings): boolean {
  return traitsOf(settings).callback_bytes !== null
}

/**
 * Checks that the packages which the provider needs are installed.
 * @throws Error with `code` `package_missing` that names the provider, the package and the command that installs it.
 */
export function assertPackages(settings: ProviderSettings): void {
  const packages = typeOf(settings).packages?.(settings) ?? []
  assertInstalled(`providers: ${settings.name} (type ${settings.type})`, packages)
}

/** Opens the provider and loads the modules that it needs. */
export function openProvider(
  settings: ProviderSettings,
  context: ProviderContext,
): Promise<Provider> {
  return typeOf(settings).open(settings, context)
}

function typeOf({ type }: ProviderSettings): ProviderType<ProviderSettings> {
  return TYPES.get(type) as ProviderType<ProviderSettings>
}
