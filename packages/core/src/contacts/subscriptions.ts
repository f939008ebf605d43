import type { Subscriptions } from '../contract/resources/contacts.ts'
import type { Channel } from '../contract/resources/content.ts'
import { CHANNELS } from '../contract/resources/content.ts'
import type { ContactRow, SuppressionRow } from '../rows/rows.ts'

/** Why addresses are suppressed, by `channelAddressKey`. */
export type Suppressed = ReadonlyMap<string, SuppressionRow['reason']>

/** What a contact can be written to at, as suppressions know it. */
export type Addresses = Pick<ContactRow, 'phone' | 'email_key'>

/** A contact's address on a channel: E.164, or an e-mail address in lower case. */
export function addressOn(channel: Channel, { phone, email_key }: Addresses): string | null {
  return channel === 'email' ? email_key : phone
}

/** The addresses that a contact has. */
export function addressesOf({ phone, email_key }: Addresses): string[] {
  return [phone, email_key].filter((address) => address !== null)
}

/** Suppressions by channel and address. */
export function suppressedBy(
  rows: readonly SuppressionRow[],
): Map<string, SuppressionRow['reason']> {
  return new Map(
    rows.map(({ channel, address, reason }) => [channelAddressKey(channel, address), reason]),
  )
}

/** What names a suppression in its workspace. */
export function channelAddressKey(channel: Channel, address: string): string {
  return `${channel} ${address}`
}

/**
 * What is true of a contact's subscriptions: where it has an address, the suppressions decide, as they do for sends;
 * what was said of a channel without one waits for it.
 */
export function subscriptionsOf(
  contact: Addresses & Pick<ContactRow, 'subscriptions'>,
  suppressed: Suppressed,
): Subscriptions {
  const entries = CHANNELS.flatMap((channel) => {
    const said = contact.subscriptions[channel]
    const address = addressOn(channel, contact)
    if (address === null) return said ? [[channel, said]] : []
    if (suppressed.has(channelAddressKey(channel, address))) return [[channel, 'unsubscribed']]
    return said ? [[channel, 'subscribed']] : []
  })
  return Object.fromEntries(entries)
}

/** What a change of a contact means for its subscriptions and for suppressions. */
export interface SubscriptionChange {
  subscriptions: Subscriptions
  /** To be suppressed as `opt_out`. */
  opt_outs: { channel: Channel; address: string }[]
  /** Where an `opt_out` is to be lifted; no other reason is. */
  lifts: { channel: Channel; address: string }[]
}

/**
 * Whoever opted out stays so under a new address. `said` is what the change says: null is `subscribed` on every channel,
 * undefined nothing.
 */
export function changeSubscriptions(
  before: (Addresses & Pick<ContactRow, 'subscriptions'>) | null,
  after: Addresses,
  said: { [C in Channel]?: Subscriptions[C] | undefined } | null | undefined,
  { suppressed, may_lift }: { suppressed: Suppressed; may_lift: boolean },
): SubscriptionChange {
  const change: SubscriptionChange = { subscriptions: {}, opt_outs: [], lifts: [] }
  for (const channel of CHANNELS) {
    const address = addressOn(channel, after)
    const now = said === null ? 'subscribed' : said?.[channel]
    const wish = now ?? (before && wishOf(channel, before, suppressed))
    const reason =
      address === null ? undefined : suppressed.get(channelAddressKey(channel, address))
    if (wish && said !== null) change.subscriptions[channel] = wish
    if (address === null) continue
    if (wish === 'unsubscribed' && !reason) change.opt_outs.push({ channel, address })
    if (may_lift && now === 'subscribed' && reason === 'opt_out')
      change.lifts.push({ channel, address })
  }
  return change
}

/** What a contact itself wants: an address that bounced says nothing of that. */
function wishOf(
  channel: Channel,
  contact: Addresses & Pick<ContactRow, 'subscriptions'>,
  suppressed: Suppressed,
): Subscriptions[Channel] {
  const said = contact.subscriptions[channel]
  const address = addressOn(channel, contact)
  if (address === null) return said
  const reason = suppressed.get(channelAddressKey(channel, address))
  if (reason === 'opt_out' || (reason && said === 'unsubscribed')) return 'unsubscribed'
  return said && 'subscribed'
}
