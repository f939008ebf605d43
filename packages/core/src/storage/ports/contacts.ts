import type { Slice } from '../../contract/endpoints/paging.ts'
import type { Channel } from '../../contract/resources/content.ts'
import type { SuppressionReason } from '../../contract/resources/suppressions.ts'
import type { ContactRow, SuppressionRow } from '../../rows/rows.ts'

/** Selects contacts; an absent field does not restrict the list. */
export interface ContactFilter {
  /** A part of `search_text`, also in lower case. */
  search?: string | undefined
  tag?: string | undefined
  /** Only contacts that are newer than the contact with this id: of these, the oldest. */
  newer_than?: string | undefined
}

/** The keys that are unique among the contacts of a workspace. */
export interface ContactKeys {
  phones: readonly string[]
  email_keys: readonly string[]
  external_ids: readonly string[]
}

/** Selects a page of the tags of a workspace, in their order. */
export interface TagPage {
  limit: number
  /** Only tags after this one. */
  after?: string | undefined
  /** Only tags before this one: of these, the last. */
  before?: string | undefined
}

/** A tag, and the oldest contact that has it. */
export interface TagRow {
  tag: string
  oldest_id: string
}

/** What a list shows of a contact. */
export type ContactName = Pick<ContactRow, 'id' | 'name' | 'phone' | 'email_key'>

export interface ContactReads {
  byId(workspaceId: string, contactId: string): Promise<ContactRow | null>
  /** The contacts with these ids that exist, in any order. */
  byIds(workspaceId: string, contactIds: readonly string[]): Promise<ContactRow[]>
  /** The contacts that have one of the keys. */
  holding(workspaceId: string, keys: ContactKeys): Promise<ContactRow[]>
  /** The names of the contacts that have one of the addresses, without the rest of the contacts. */
  names(
    workspaceId: string,
    addresses: Pick<ContactKeys, 'phones' | 'email_keys'>,
  ): Promise<ContactName[]>
  /** Returns the newest first. */
  list(workspaceId: string, filter: ContactFilter, page: Slice): Promise<ContactRow[]>
  count(workspaceId: string, filter: ContactFilter): Promise<number>
  /** Each tag once, in the order of the database. */
  tags(workspaceId: string, page: TagPage): Promise<TagRow[]>
}

export interface ContactWrites {
  /** Blocks other changes of the workspace's contacts until the transaction ends, so that a free key stays free. */
  lock(workspaceId: string): Promise<void>
  insert(contacts: readonly ContactRow[]): Promise<void>
  update(contact: ContactRow): Promise<void>
  /** Returns false when there is no such contact. */
  remove(workspaceId: string, contactId: string): Promise<boolean>
}

/** Selects suppressions; an absent field does not restrict the list. */
export interface SuppressionFilter {
  channel?: Channel | undefined
  reason?: SuppressionReason | undefined
  /** A part of the address, in lower case. */
  search?: string | undefined
}

/** The place of a suppression in the order of the list. */
export type SuppressionPosition = Pick<SuppressionRow, 'created_at' | 'channel' | 'address'>

export interface SuppressionReads {
  /** The suppressions of these addresses, on any channel. */
  of(workspaceId: string, addresses: readonly string[]): Promise<SuppressionRow[]>
  /** Returns the newest first; with `after`, only rows after that position. */
  list(
    workspaceId: string,
    filter: SuppressionFilter,
    page: { limit: number; offset: number; after?: SuppressionPosition | undefined },
  ): Promise<SuppressionRow[]>
  count(workspaceId: string, filter: SuppressionFilter): Promise<number>
}

export interface SuppressionWrites {
  /** On WhatsApp all forms of a number are suppressed. An existing suppression stays unchanged. */
  add(suppressions: readonly SuppressionRow[]): Promise<void>
  /** Removes all forms of a number of WhatsApp. Returns false when no such suppression exists. With a `reason`, only a suppression with that reason is removed. */
  remove(
    workspaceId: string,
    suppression: { channel: Channel; address: string; reason?: SuppressionReason | undefined },
  ): Promise<boolean>
}
