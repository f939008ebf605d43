import type { Traits } from '../contract/outside/provider.ts'
import type { Channel } from '../contract/resources/content.ts'
import { type InstalledProvider, SANDBOX } from '../providers/installed.ts'

/** A provider for a message, and the sender of the message with this provider. */
export interface Carrier {
  provider: string
  sender: string | null
}

/** The providers for messages, as the settings alone determine them. */
export interface Carriers {
  /**
   * Returns providers, ordered as in the settings. Test messages, and channels without a provider, get the sandbox. Empty
   * if a real `provider` was tried before and none serves the channel now: the sandbox would report the message as delivered.
   */
  of(message: {
    channel: Channel
    livemode: boolean
    sender: string | null
    provider?: string | null
  }): Carrier[]
  /** The message's own sender, otherwise the provider's first sender for the channel, otherwise null. */
  senderOf(provider: string, message: { channel: Channel; sender: string | null }): string | null
  /** The error message when no provider has the sender; otherwise null. Not called for test keys: they may use any sender. */
  senderFault(channel: Channel, sender: string | undefined): string | null
  /** Whether every provider that may get the message sends one message to several recipients. */
  takesSeveral(message: { channel: Channel; livemode: boolean }): boolean
  /** Whether the settings of any provider list the sender for the channel. */
  hasSender(channel: Channel, sender: string): boolean
  /** The senders that the settings list for the channel, each once. */
  listedSenders(channel: Channel): string[]
  /** Whether the settings of the provider list the sender. */
  isListed(provider: string, sender: string): boolean
  /** The traits of a provider; undefined if the provider is no longer configured. */
  traits(provider: string): Traits | undefined
  /** Whether a provider other than the sandbox serves the channel. */
  serves(channel: Channel): boolean
}

export function createCarriers(
  providers: readonly Pick<InstalledProvider, 'name' | 'traits'>[],
): Carriers {
  const own = providers.map(({ name, traits }) => ({ provider: name, traits }))
  const traits = new Map(own.map((one) => [one.provider, one.traits]))
  traits.set(SANDBOX.name, SANDBOX.traits)

  const serving = (channel: Channel) => own.filter((one) => one.traits.channels.includes(channel))

  const listedSenders = (channel: Channel) => [
    ...new Set(serving(channel).flatMap(({ traits }) => traits.senders[channel] ?? [])),
  ]

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
      return `Invalid sender. Must be one of: ${listedSenders(channel).join(', ')}`
    },
    takesSeveral({ channel, livemode }) {
      const all = livemode ? serving(channel) : []
      const served = all.length > 0 ? all : [SANDBOX]
      return served.every(({ traits }) => traits.several_recipients === true)
    },
    hasSender: (channel, sender) =>
      own.some((one) => one.traits.senders[channel]?.includes(sender) ?? false),
    listedSenders,
    isListed: (provider, sender) =>
      Object.values(traits.get(provider)?.senders ?? {}).some((listed) => listed.includes(sender)),
    traits: (provider) => traits.get(provider),
    serves: (channel) => serving(channel).length > 0,
  }
}

/** A provider whose settings list no senders accepts any sender. The sender of an e-mail is only a name, so any is accepted. */
function takes({ senders }: Traits, channel: Channel, sender: string | null): boolean {
  const known = senders[channel]
  if (sender === null || channel === 'email') return true
  return !known || known.length === 0 || known.includes(sender)
}
