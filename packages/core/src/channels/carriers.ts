import type { Traits } from '../contract/outside/provider.ts'
import type { Channel } from '../contract/resources/content.ts'
import { type ProviderSettings, SANDBOX, traitsOf } from '../providers/registry.ts'

/** A provider for a message, and the sender that the message has there. */
export interface Carrier {
  provider: string
  sender: string | null
}

/** The providers for messages, by the settings alone. */
export interface Carriers {
  /**
   * In the order of the settings. The sandbox for test keys, and for a channel without a provider. Empty if another
   * `provider` was tried before and none serves the channel any more: the message must not be shown as delivered.
   */
  of(message: {
    channel: Channel
    livemode: boolean
    sender: string | null
    provider?: string | null
  }): Carrier[]
  /** The message's own sender, else the provider's first for the channel, else null. */
  senderOf(provider: string, message: { channel: Channel; sender: string | null }): string | null
  /** The error message when no provider has the sender; otherwise null. Not for test keys, which may use any sender. */
  senderFault(channel: Channel, sender: string | undefined): string | null
  /** Whether the settings of any provider list the sender for the channel. */
  hasSender(channel: Channel, sender: string): boolean
  /** Whether the settings of the provider list the sender. */
  isListed(provider: string, sender: string): boolean
  /** The traits of a provider; undefined for one that is no longer configured. */
  traits(provider: string): Traits | undefined
  /** Whether a provider other than the sandbox serves the channel. */
  serves(channel: Channel): boolean
}

export function createCarriers(providers: readonly ProviderSettings[]): Carriers {
  const own = providers.map((settings) => ({
    provider: settings.name as string,
    traits: traitsOf(settings),
  }))
  const traits = new Map(own.map((one) => [one.provider, one.traits]))
  traits.set(SANDBOX.name, traitsOf(SANDBOX))

  const serving = (channel: Channel) => own.filter((one) => one.traits.channels.includes(channel))

  function senderOf(
    provider: string,
    { channel, sender }: { channel: Channel; sender: string | null },
  ) {
    return sender ?? traits.get(provider)?.senders[channel]?.[0] ?? null
  }

  return {
    of(message) {
      const { channel, livemode, sender, provider: last = null } = message
      const all = livemode ? serving(channel) : []
      if (all.length === 0) {
        const isWaiting = livemode && last !== null && last !== SANDBOX.name
        return isWaiting ? [] : [{ provider: SANDBOX.name, sender }]
      }
      const able = all.filter(({ traits }) => takes(traits, channel, sender))
      return able.map(({ provider }) => ({ provider, sender: senderOf(provider, message) }))
    },
    senderOf,
    senderFault(channel, sender) {
      const all = serving(channel)
      if (sender === undefined || all.length === 0) return null
      if (all.some(({ traits }) => takes(traits, channel, sender))) return null
      const known = [...new Set(all.flatMap(({ traits }) => traits.senders[channel] ?? []))]
      return `Invalid sender. Must be one of: ${known.join(', ')}`
    },
    hasSender: (channel, sender) =>
      own.some((one) => one.traits.senders[channel]?.includes(sender) ?? false),
    isListed: (provider, sender) =>
      Object.values(traits.get(provider)?.senders ?? {}).some((listed) => listed.includes(sender)),
    traits: (provider) => traits.get(provider),
    serves: (channel) => serving(channel).length > 0,
  }
}

/** A provider without senders accepts any. Every provider accepts any sender of an e-mail, which is only a name. */
function takes({ senders }: Traits, channel: Channel, sender: string | null): boolean {
  const known = senders[channel]
  if (sender === null || channel === 'email') return true
  return !known || known.length === 0 || known.includes(sender)
}
