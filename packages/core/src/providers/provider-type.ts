import type { z } from 'zod'
import type { Provider, ProviderContext, Traits } from '../contract/outside/provider.ts'

/** One kind of provider. What is light stands in it; `open` loads the rest. */
export interface ProviderType<Settings> {
  /** Has `type`, a literal, and what is common to all. */
  settings: z.ZodType<Settings>
  traits(settings: Settings): Traits
  open(settings: Settings, context: ProviderContext): Promise<Provider>
}
