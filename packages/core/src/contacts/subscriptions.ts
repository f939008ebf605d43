import type { Subscriptions } from '../contract/resources/contacts.ts'
import type { Channel } from '../contract/resources/content.ts'
import { CHANNELS } from '../contract/resources/content.ts'
import type { ContactRow, SuppressionRow } from '../rows/rows.ts'

/** The reasons of suppressions, indexed by `channelAddressKey`. */
export type Suppressed = ReadonlyMap<string, SuppressionRow['reason']>

/** The addresses of a contact, in the same form as in suppressions. */
type Addresses = Pick<ContactRow, 'phone' | 'email_key'>

/** A contact's address on a channel: E.164, or an e-mail address in lower case. */
function addressOn(channel: Channel, { phone, email_key }: Addresses): string | null {
  return channel === 'email' ? email_key : phone
}

export function addressesOf({ phone, email_key }: Addresses): string[] {
  return [phone, email_key].filter((address) => address !== null)
}

/** Indexes suppressions by channel and address. */
export function suppressedBy(
  rows: readonly SuppressionRow[],
): Map<string, SuppressionRow['reason']> {
  return new Map(
    rows.map(({ channel, address, reason }) => [channelAddressKey(channel, address), reason]),
  )
}

/** The key of a suppression in its workspace. */
export function channelAddressKey(channel: Channel, address: string): string {
  return `${channel} ${address}`
}

/**
 * The effective subscriptions of a contact. If the contact has an address on a channel, the suppressions decide, as they do
 * for sends. Otherwise the stored value applies.
 */
export function subscriptionsOf(
  contact: Addresses & Pick<ContactRow, 'subscriptions'>,
  suppressed: Suppressed,
): Subscriptions {
  const entries = CHANNELS.flatMap((channel) => {
    const stored = contact.subscriptions[channel]
    const address = addressOn(channel, contact)
    if (address === null) return stored ? [[channel, stored]] : []
    if (suppressed.has(channelAddressKey(channel, address))) return [[channel, 'unsubscribed']]
    return stored ? [[channel, 'subscribed']] : []
  })
  return Object.fromEntries(entries)
}

/** The effects of a changed contact on its subscriptions and on suppressions. */
export interface SubscriptionChange {
  subscriptions: Subscriptions
  /** Suppressions to add with the reason `opt_out`. */
  opt_outs: { channel: Channel; address: string }[]
  /** Suppressions to remove if their reason is `opt_out`. */
  lifts: { channel: Channel; address: string }[]
}

/** The suppressions to add for opt-outs. */
export function optOutRows(
  opt_outs: SubscriptionChange['opt_outs'],
  { workspace_id, created_at }: Pick<SuppressionRow, 'workspace_id' | 'created_at'>,
): SuppressionRow[] {
  return opt_outs.map((each) => ({ ...each, workspace_id, reason: 'opt_out', created_at }))
}

/**
 * An opt-out also applies to a new address of the contact. If `requested` is null, every channel becomes `subscribed`; if
 * it is undefined, nothing changes.
 */
export function changeSubscriptions(
  before: (Addresses & Pick<ContactRow, 'subscriptions'>) | null,
  after: Addresses,
  requested: { [C in Channel]?: Subscriptions[C] | undefined } | null | undefined,
  { suppressed, may_lift }: { suppressed: Suppressed; may_lift: boolean },
): SubscriptionChange {
  const change: SubscriptionChange = { subscriptions: {}, opt_outs: [], lifts: [] }
  for (const channel of CHANNELS) {
    const address = addressOn(channel, after)
    const now = requested === null ? 'subscribed' : requested?.[channel]
    const status = now ?? (before && ownStatus(channel, before, suppressed))
    const reason =
      address === null ? undefined : suppressed.get(channelAddressKey(channel, address))
    if (status && requested !== null) change.subscriptions[channel] = status
    if (address === null) continue
    if (status === 'unsubscribed' && !reason) change.opt_outs.push({ channel, address })
    if (may_lift && now === 'subscribed' && reason === 'opt_out')
      change.lifts.push({ channel, address })
  }
  return change
}

/** The contact's own choice; suppressions for bounces do not count. */
function ownStatus(
  channel: Channel,
  contact: Addresses & Pick<ContactRow, 'subscriptions'>,
  suppressed: Suppressed,
): Subscriptions[Channel] {
  const stored = contact.subscriptions[channel]
  const address = addressOn(channel, contact)
  if (address === null) return stored
  const reason = suppressed.get(channelAddressKey(channel, address))
  if (reason === 'opt_out' || (reason && stored === 'unsubscribed')) return 'unsubscribed'
  return stored && 'subscribed'
}
