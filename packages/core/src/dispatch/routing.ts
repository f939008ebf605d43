import type { Channel } from '../contract/content.ts'
import type { Settlement } from '../messages/settlement.ts'
import { type ProviderSettings, SANDBOX, traitsOf } from '../providers/registry.ts'

/** Who carries what. */
export interface Routing {
  /** The provider for a message: the channel's own, or the sandbox where none is configured and for test keys. */
  providerOf(message: { channel: Channel; livemode: boolean }): string
  abilitiesOf(provider: string): Settlement['abilities']
}

/** Routes by channel; a channel without a provider goes to the sandbox. */
export function createRouting(providers: readonly ProviderSettings[]): Routing {
  const all = [SANDBOX, ...providers].map((provider) => ({
    name: provider.name as string,
    traits: traitsOf(provider),
  }))
  const traits = new Map(all.map((one) => [one.name, one.traits]))
  return {
    providerOf({ channel, livemode }) {
      const own = all.find(
        ({ name, traits }) => name !== SANDBOX.name && traits.channels.includes(channel),
      )
      return (livemode && own?.name) || SANDBOX.name
    },
    abilitiesOf(name) {
      const { idempotent = false, lookup = false } = traits.get(name) ?? {}
      return { idempotent, lookup }
    },
  }
}
