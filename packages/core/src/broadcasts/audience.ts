import type { Audience } from '../contract/resources/broadcasts.ts'
import type { Channel } from '../contract/resources/content.ts'
import type { ContactRow } from '../rows/rows.ts'
import { suppressedAddress } from '../rules/recipients.ts'
import type { Reads } from '../storage/ports/storage.ts'
import type { AudienceFilter } from '../storage/ports/stores.ts'

/** The contacts of a broadcast. */
export interface AudienceOf {
  workspace_id: string
  channel: Channel
  audience: Audience
  /** The newest contact that belongs to it. */
  until: string
}

/** The contacts of an audience between two places of its order, which is that of the ids. */
export interface AudiencePart {
  /** Those that can get a message. */
  contacts: ContactRow[]
  /** The last contact that was read, of the audience or not. */
  cursor: string
  /** Whether no contact follows. */
  is_last: boolean
  /** How many contacts of the audience were read. */
  read: number
  suppressed: number
  no_address: number
}

/**
 * The contacts of one query: some milliseconds, and a few hundred kilobytes. The first query has no more than the part needs, because
 * mostly all of them belong to the audience; further ones have at least `PAGE_MIN`.
 */
const PAGE_MAX = 500
const PAGE_MIN = 100

/** The contacts that one part reads at most, if few of them belong to the audience. */
const READ_MAX = 5_000

export function filterOf({ tags = [], exclude_tags = [] }: Audience): AudienceFilter {
  return { tags, exclude_tags }
}

/**
 * The next contacts after `after`: at most `size` that can get a message, and at least half as many unless few of the contacts that it
 * reads can.
 */
export async function nextPart(
  { contacts, suppressions }: Pick<Reads, 'contacts' | 'suppressions'>,
  { workspace_id, channel, audience, until }: AudienceOf,
  { after, size }: { after: string; size: number },
): Promise<AudiencePart> {
  const part: AudiencePart = {
    contacts: [],
    cursor: after,
    is_last: false,
    read: 0,
    suppressed: 0,
    no_address: 0,
  }
  let limit = Math.min(PAGE_MAX, size)
  for (let scanned = 0; scanned < READ_MAX && part.contacts.length * 2 < size; ) {
    const page = { after: part.cursor, until, limit }
    const rows = await contacts.audience(workspace_id, filterOf(audience), page)
    const addresses = rows.flatMap((row) => keyOf(row, channel) ?? [])
    const found = await suppressions.of(workspace_id, addresses)
    const suppressed = new Set(
      found.filter((row) => row.channel === channel).map(({ address }) => address),
    )
    for (const row of rows) {
      if (part.contacts.length === size) return part
      part.cursor = row.id
      if (!isChosen(row, audience)) continue
      part.read += 1
      const key = keyOf(row, channel)
      if (key === null) part.no_address += 1
      else if (suppressed.has(key)) part.suppressed += 1
      else part.contacts.push(row)
    }
    if (rows.length < limit) {
      part.is_last = true
      return part
    }
    scanned += limit
    limit = Math.min(PAGE_MAX, Math.max(PAGE_MIN, size))
  }
  return part
}

/** The address of a contact under which it is suppressed; null if it has none for the channel. */
function keyOf({ phone, email }: ContactRow, channel: Channel): string | null {
  const recipient = channel === 'email' ? email : phone
  return recipient === null ? null : suppressedAddress({ channel, recipient })
}

/** Whether the size of an audience is only known when the attributes of its contacts were read. */
export function needsAttributes({ attributes = {}, exclude_attributes = {} }: Audience): boolean {
  return [attributes, exclude_attributes].some((one) => Object.keys(one).length > 0)
}

function isChosen(
  { attributes }: ContactRow,
  { attributes: wanted = {}, exclude_attributes: unwanted = {} }: Audience,
): boolean {
  const has = ([name, value]: [string, unknown]) =>
    Object.hasOwn(attributes, name) && attributes[name] === value
  return Object.entries(wanted).every(has) && !Object.entries(unwanted).some(has)
}
