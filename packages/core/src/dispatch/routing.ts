import type { Channel } from '../contract/content.ts'
import type { Settlement } from '../messages/settlement.ts'
import { loadProvider } from '../providers/registry.ts'

/** Who carries what. */
export interface Routing {
  /** The provider for a message: the channel's own, or the sandbox where none is configured and for test keys. */
  providerOf(message: { channel: Channel; livemode: boolean }): string
  abilitiesOf(provider: string): Promise<Settlement['abilities']>
}

/** Routes by channel; a channel without a provider goes to the sandbox. */
export function createRouting(providers: Partial<Record<Channel, string>>): Routing {
  const abilities = new Map<string, Promise<Settlement['abilities']>>()
  return {
    providerOf: ({ channel, livemode }) => (livemode && providers[channel]) || 'sandbox',
    abilitiesOf(name) {
      const known =
        abilities.get(name) ??
        loadProvider(name).then(
          ({ idempotent, lookup }) => ({ idempotent, lookup: lookup !== undefined }),
          // A provider that is gone can be asked nothing.
          () => ({ idempotent: false, lookup: false }),
        )
      abilities.set(name, known)
      return known
    },
  }
}
