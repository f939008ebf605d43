import type { z } from 'zod'
import type { Provider, ProviderContext, Traits } from '../contract/outside/provider.ts'

/** One type of provider. It is light: `open` loads the rest. */
export interface ProviderType<Settings> {
  /** A strict object of `commonSettings`, `type` (a literal) and the type's own settings. */
  settings: z.ZodType<Settings> & { shape: { type: z.ZodLiteral<string> } }
  traits(settings: Settings): Traits
  open(settings: Settings, context: ProviderContext): Promise<Provider>
}
