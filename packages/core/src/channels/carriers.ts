import type { Traits } from '../contract/outside/provider.ts'
import type { Channel } from '../contract/resources/content.ts'
import { type ProviderSettings, SANDBOX, traitsOf } from '../providers/registry.ts'

/** Somebody who can carry a message, and the sender it then has. */
export interface Carrier {
  provider: string
  sender: string | null
}

/** Who can carry what, by the settings alone. */
export interface Carriers {
  /**
   * In the order of the settings. The sandbox for test keys, and where nobody serves the channel; but nobody for what
   * another `provider` was asked for before, which is in the settings no more: it shall not seem delivered.
   */
  of(message: {
    channel: Channel
    livemode: boolean
    sender: string | null
    provider?: string | null
  }): Carrier[]
  /** The sender that a message has with a provider: its own, else the provider's first; null where there is none. */
  senderOf(provider: string, message: { channel: Channel; sender: string | null }): string | null
  /** Why nobody may send from there, for people; null where somebody may. Test keys send from anywhere. */
  senderFault(channel: Channel, sender: string | undefined): string | null
  /** Whether a number is one that providers send from. */
  hasSender(channel: Channel, sender: string): boolean
  /** Whether it is one of those that the provider's settings name. */
  isListed(provider: string, sender: string): boolean
  /** What follows from a provider's settings; undefined for one that is gone. */
  traits(provider: string): Traits | undefined
  /** Whether somebody other than the sandbox serves the channel. */
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

/** A provider without senders of its own takes any; and any takes an e-mail's, which is but a name. */
function takes({ senders }: Traits, channel: Channel, sender: string | null): boolean {
  const known = senders[channel]
  if (sender === null || channel === 'email') return true
  return !known || known.length === 0 || known.includes(sender)
}
