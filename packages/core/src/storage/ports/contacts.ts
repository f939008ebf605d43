import type { Channel } from '../../contract/resources/content.ts'
import type { SuppressionReason } from '../../contract/resources/suppressions.ts'
import type { ContactRow, SuppressionRow } from '../../rows/rows.ts'

/** Which contacts: what is not named does not matter. */
export interface ContactFilter {
  /** A part of `search_text`, folded as that is. */
  search?: string | undefined
  tag?: string | undefined
  /** Those made before the one with this id. */
  before_id?: string | undefined
}

/** What no two contacts of a workspace share. */
export interface ContactKeys {
  phones: readonly string[]
  email_keys: readonly string[]
  external_ids: readonly string[]
}

export interface ContactReads {
  byId(workspaceId: string, contactId: string): Promise<ContactRow | null>
  /** Those of the ids that there are, in no order. */
  byIds(workspaceId: string, contactIds: readonly string[]): Promise<ContactRow[]>
  /** Whoever has one of the keys. */
  holding(workspaceId: string, keys: ContactKeys): Promise<ContactRow[]>
  /** Newest first. */
  list(
    workspaceId: string,
    filter: ContactFilter,
    page: { limit: number; offset: number },
  ): Promise<ContactRow[]>
  count(workspaceId: string, filter: ContactFilter): Promise<number>
}

export interface ContactWrites {
  /** Keeps every other change of the workspace's contacts out until the transaction ends, so that what is free stays so. */
  lock(workspaceId: string): Promise<void>
  insert(contacts: readonly ContactRow[]): Promise<void>
  update(contact: ContactRow): Promise<void>
  /** Answers false when there is no such contact. */
  remove(workspaceId: string, contactId: string): Promise<boolean>
}

/** Which suppressions: what is not named does not matter. */
export interface SuppressionFilter {
  channel?: Channel | undefined
  reason?: SuppressionReason | undefined
  /** A part of the address, in lower case. */
  search?: string | undefined
}

export interface SuppressionReads {
  /** What there is of these addresses, on any channel. */
  of(workspaceId: string, addresses: readonly string[]): Promise<SuppressionRow[]>
  /** Newest first. */
  list(
    workspaceId: string,
    filter: SuppressionFilter,
    page: { limit: number; offset: number },
  ): Promise<SuppressionRow[]>
  count(workspaceId: string, filter: SuppressionFilter): Promise<number>
}

export interface SuppressionWrites {
  /** One that stands already stays as it is. */
  add(suppressions: readonly SuppressionRow[]): Promise<void>
  /** Answers false when there is no such suppression; with a `reason`, none for that reason. */
  remove(
    workspaceId: string,
    suppression: { channel: Channel; address: string; reason?: SuppressionReason | undefined },
  ): Promise<boolean>
}
