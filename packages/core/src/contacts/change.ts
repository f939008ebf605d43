import type { ErrorDetail } from '../contract/errors.ts'
import { emailKey } from '../contract/fields/email-address.ts'
import {
  attributes,
  type ContactFields,
  type Subscriptions,
  UNREACHABLE_TEXT,
} from '../contract/resources/contacts.ts'
import { CHANNELS, type Channel } from '../contract/resources/content.ts'
import type { ContactRow, SuppressionRow } from '../rows/rows.ts'
import { suppressedForms } from '../rules/recipients.ts'

/** The contacts that a change could collide with, indexed by each unique key. */
export interface ContactIndex {
  put(contact: ContactRow): void
  /** The contact with the value in that field. */
  holder(field: KeyField, value: string | null): ContactRow | undefined
}

type KeyField = 'external_id' | 'phone' | 'email_key'

const KEY_FIELDS = ['external_id', 'phone', 'email_key'] as const

const TAKEN: Record<KeyField, ErrorDetail> = {
  external_id: { path: 'external_id', message: 'A contact with this external_id already exists' },
  phone: { path: 'phone', message: 'A contact with this phone number already exists' },
  email_key: { path: 'email', message: 'A contact with this email address already exists' },
}

export function indexOf(contacts: readonly ContactRow[]): ContactIndex {
  const known = new Map<string, ContactRow>()
  const byKey = new Map<string, string>()
  const index: ContactIndex = {
    put(contact) {
      const before = known.get(contact.id)
      for (const field of KEY_FIELDS) {
        if (before) byKey.delete(`${field} ${before[field]}`)
        const value = contact[field]
        if (value !== null) byKey.set(`${field} ${value}`, contact.id)
      }
      known.set(contact.id, contact)
    },
    holder: (field, value) => known.get(byKey.get(`${field} ${value}`) ?? ''),
  }
  contacts.forEach(index.put)
  return index
}

interface ChangeState {
  index: ContactIndex
  suppressed: Suppressed
  /** Whether `subscribed` ends an opt-out. */
  may_lift: boolean
}

/** The rows to write, or the error. */
type ChangeResult =
  | ({ ok: true; contact: ContactRow; is_change: boolean } & Omit<
      SubscriptionChange,
      'subscriptions'
    >)
  | ({ ok: false } & ErrorDetail)

/**
 * Applies fields to a contact: absent fields stay, null clears a field. The caller must have locked the workspace. `index`
 * must hold every contact that has one of the keys.
 */
export function changeContact(
  before: ContactRow | null,
  fields: ContactFields,
  made: Pick<ContactRow, 'id' | 'workspace_id'> & { at: Date },
  state: ChangeState,
): ChangeResult {
  const { phone, email_key, ...named } = namedFields(before, fields)
  if (phone === null && email_key === null) {
    return { ok: false, path: '', message: UNREACHABLE_TEXT }
  }
  const { subscriptions, opt_outs, lifts } = changeSubscriptions(
    before,
    { phone, email_key },
    fields.subscriptions,
    state,
  )
  const contact: ContactRow = {
    id: before?.id ?? made.id,
    workspace_id: made.workspace_id,
    ...named,
    phone,
    email_key,
    subscriptions,
    search_text: searchTextOf({ ...named, phone }),
    created_at: before?.created_at ?? made.at,
    updated_at: made.at,
  }
  const taken = KEY_FIELDS.find((field) => {
    const holder = state.index.holder(field, contact[field])
    return holder && holder.id !== contact.id
  })
  if (taken) return { ok: false, ...TAKEN[taken] }
  const is_change =
    opt_outs.length + lifts.length > 0 ||
    !before ||
    shownText(before, state) !== shownText(contact, state)
  return { ok: true, contact, is_change, opt_outs, lifts }
}

/** The fields of an imported contact, with its attributes added to the existing attributes. */
export function joinAttributes(before: ContactRow | null, fields: ContactFields): ContactFields {
  if (!before || !fields.attributes) return fields
  return { ...fields, attributes: { ...before.attributes, ...fields.attributes } }
}

/** The error in joined attributes, or null. */
export function attributesFault({ attributes: joined }: ContactFields): ErrorDetail | null {
  const message = joined && attributes.safeParse(joined).error?.issues[0]?.message
  return message ? { path: 'attributes', message } : null
}

function namedFields(before: ContactRow | null, fields: ContactFields) {
  const { name, phone, email, external_id, tags, attributes } = fields
  const kept = before ?? NOTHING
  const mail = email === undefined ? kept.email : email
  return {
    name: name === undefined ? kept.name : name,
    phone: phone === undefined ? kept.phone : phone,
    email: mail,
    email_key: mail === null ? null : emailKey(mail),
    external_id: external_id === undefined ? kept.external_id : external_id,
    tags: tags === undefined ? kept.tags : [...new Set(tags)],
    attributes: attributes === undefined ? kept.attributes : (attributes ?? {}),
  }
}

const NOTHING = {
  name: null,
  phone: null,
  email: null,
  external_id: null,
  tags: [],
  attributes: {},
}

/** The text has one field per line. A search has no line breaks, so it cannot match across two fields. */
function searchTextOf(contact: Pick<ContactRow, 'name' | 'phone' | 'email' | 'external_id'>) {
  const { name, phone, email, external_id } = contact
  const texts = [name, phone, email, external_id].filter((text) => text !== null)
  return texts.map(fold).join('\n')
}

function shownText(contact: ContactRow, { suppressed }: ChangeState): string {
  const { name, phone, email, external_id, tags, attributes } = contact
  const subscriptions = subscriptionsOf(contact, suppressed)
  return JSON.stringify([name, phone, email, external_id, tags, attributes, subscriptions])
}

/**
 * A text for a search that ignores case and equivalent spellings: `STRASSE` finds `Straße`. JavaScript makes this text,
 * because each database has its own rules, and SQLite folds only ASCII.
 */
export function fold(text: string): string {
  // `toUpperCase` turns `ß` into `SS`. `toLowerCase` then gives sigma two forms, which depend on its place in the word.
  return text.normalize('NFKC').toUpperCase().toLowerCase().replaceAll('ς', 'σ').normalize('NFC')
}

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

/**
 * The addresses under which messages to and from a contact are stored: WhatsApp has several forms of some numbers, and an
 * e-mail keeps the case in which its request wrote the address.
 */
export function historyAddresses({
  phone,
  email,
  email_key,
}: Addresses & Pick<ContactRow, 'email'>): string[] {
  const forms = phone === null ? [] : suppressedForms({ channel: 'whatsapp', address: phone })
  return [...new Set([phone, ...forms, email, email_key])].filter((one) => one !== null)
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
interface SubscriptionChange {
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
function changeSubscriptions(
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
