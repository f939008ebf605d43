import { and, asc, desc, eq, gt, inArray, lt, or, type SQL, sql } from 'drizzle-orm'
import { CHANNELS, type Channel } from '../../contract/resources/content.ts'
import type { SuppressionReason } from '../../contract/resources/suppressions.ts'
import { type Db, rowCount } from '../../rows/dialect.ts'
import type { SuppressionRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'

import { suppressedForms } from '../../rules/recipients.ts'
import { blocksOf, filledUp, includes } from './queries.ts'

/** Selects suppressions; an absent field does not restrict the list. */
export interface SuppressionFilter {
  channel?: Channel | undefined
  reason?: SuppressionReason | undefined
  /** A part of the address, in lower case. */
  search?: string | undefined
}

/** The place of a suppression in the order of the list. */
export type SuppressionPosition = Pick<SuppressionRow, 'created_at' | 'channel' | 'address'>

/** A suppression of an address for a reason after a time. */
export interface SuppressedAfter {
  channel: Channel
  reason: SuppressionReason
  since: Date
}

/**
 * SQL: whether the recipient of a message was suppressed so. A suppression has the domain of an e-mail as A-labels, a message as its
 * contact writes it, and no engine converts them: for such domains the recipient is that of the contact with the address.
 */
export function isSuppressedAfter(
  db: Db,
  { suppressions: t, messages, contacts }: Tables,
  workspaceId: string,
  { channel, reason, since }: SuppressedAfter,
): SQL {
  const some = and(
    eq(t.workspace_id, workspaceId),
    eq(t.channel, channel),
    eq(t.reason, reason),
    gt(t.created_at, since),
  )
  const addresses = (condition: SQL | undefined) =>
    db.select({ address: t.address }).from(t).where(condition)
  const isListed = sql`lower(${messages.recipient}) in (${addresses(some)})`
  if (channel !== 'email') return sql`(${isListed})`
  const holders = and(
    eq(contacts.workspace_id, workspaceId),
    inArray(contacts.email_key, addresses(and(some, includes(t.address, 'xn--')))),
  )
  const written = db.select({ email: contacts.email }).from(contacts).where(holders)
  return sql`(${isListed} or ${messages.recipient} in (${written}))`
}

export function suppressionStore(db: Db, { suppressions: t }: Tables) {
  const matching = (workspaceId: string, { channel, reason, search }: SuppressionFilter) =>
    and(
      eq(t.workspace_id, workspaceId),
      channel && eq(t.channel, channel),
      reason && eq(t.reason, reason),
      search ? includes(t.address, search) : undefined,
    )
  const isAfter = ({ created_at, channel, address }: SuppressionPosition) =>
    or(
      lt(t.created_at, created_at),
      and(
        eq(t.created_at, created_at),
        or(gt(t.channel, channel), and(eq(t.channel, channel), gt(t.address, address))),
      ),
    )
  return {
    reads: {
      /** The suppressions of these addresses, on any channel. */
      async of(workspaceId: string, addresses: readonly string[]): Promise<SuppressionRow[]> {
        if (addresses.length === 0) return []
        // The condition names all channels, because the channel precedes the address in the key.
        const known = and(
          eq(t.workspace_id, workspaceId),
          inArray(t.channel, [...CHANNELS]),
          inArray(t.address, filledUp(addresses)),
        )
        return db.select().from(t).where(known)
      },
      /** Returns the newest first; with `after`, only rows after that position. */
      async list(
        workspaceId: string,
        filter: SuppressionFilter,
        {
          limit,
          offset,
          after,
        }: { limit: number; offset: number; after?: SuppressionPosition | undefined },
      ): Promise<SuppressionRow[]> {
        const found = db
          .select()
          .from(t)
          .where(and(matching(workspaceId, filter), after && isAfter(after)))
        const newest = found.orderBy(desc(t.created_at), asc(t.channel), asc(t.address))
        return newest.limit(limit).offset(offset)
      },
      async count(workspaceId: string, filter: SuppressionFilter): Promise<number> {
        const found = db.select({ n: rowCount }).from(t).where(matching(workspaceId, filter))
        return (await found)[0]?.n ?? 0
      },
    },
    writes: {
      /** On WhatsApp all forms of a number are suppressed. An existing suppression stays unchanged. */
      async add(suppressions: readonly SuppressionRow[]): Promise<void> {
        const all = suppressions.flatMap((row) =>
          suppressedForms(row).map((address) => ({ ...row, address })),
        )
        for (const block of blocksOf(all)) {
          await db.insert(t).values(block).onConflictDoNothing()
        }
      },
      /** Removes all forms of a number of WhatsApp. Returns false when no such suppression exists. With a `reason`, only a suppression with that reason is removed. */
      async remove(
        workspaceId: string,
        {
          channel,
          address,
          reason,
        }: { channel: Channel; address: string; reason?: SuppressionReason | undefined },
      ): Promise<boolean> {
        const one = and(
          eq(t.workspace_id, workspaceId),
          eq(t.channel, channel),
          inArray(t.address, suppressedForms({ channel, address })),
          reason && eq(t.reason, reason),
        )
        return (await db.delete(t).where(one).returning({ address: t.address })).length > 0
      },
    },
  }
}
