import { and, asc, desc, eq, gt, inArray, lt, or } from 'drizzle-orm'
import { CHANNELS } from '../../contract/resources/content.ts'
import { type Db, rowCount } from '../../rows/dialect.ts'
import type { Tables } from '../../rows/tables.ts'
import { suppressedForms } from '../../rules/suppression.ts'
import type {
  SuppressionFilter,
  SuppressionPosition,
  SuppressionReads,
  SuppressionWrites,
} from '../ports/contacts.ts'
import { blocksOf, filledUp } from './batches.ts'
import { includes } from './dialect.ts'

export function suppressionStore(
  db: Db,
  { suppressions: t }: Tables,
): SuppressionReads & SuppressionWrites {
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
    async of(workspaceId, addresses) {
      if (addresses.length === 0) return []
      // The condition names all channels, because the channel precedes the address in the key.
      const known = and(
        eq(t.workspace_id, workspaceId),
        inArray(t.channel, [...CHANNELS]),
        inArray(t.address, filledUp(addresses)),
      )
      return db.select().from(t).where(known)
    },
    async list(workspaceId, filter, { limit, offset, after }) {
      const found = db
        .select()
        .from(t)
        .where(and(matching(workspaceId, filter), after && isAfter(after)))
      const newest = found.orderBy(desc(t.created_at), asc(t.channel), asc(t.address))
      return newest.limit(limit).offset(offset)
    },
    async count(workspaceId, filter) {
      const found = db.select({ n: rowCount }).from(t).where(matching(workspaceId, filter))
      return (await found)[0]?.n ?? 0
    },
    async add(suppressions) {
      const all = suppressions.flatMap((row) =>
        suppressedForms(row).map((address) => ({ ...row, address })),
      )
      for (const block of blocksOf(all)) {
        await db.insert(t).values(block).onConflictDoNothing()
      }
    },
    async remove(workspaceId, { channel, address, reason }) {
      const one = and(
        eq(t.workspace_id, workspaceId),
        eq(t.channel, channel),
        inArray(t.address, suppressedForms({ channel, address })),
        reason && eq(t.reason, reason),
      )
      return (await db.delete(t).where(one).returning({ address: t.address })).length > 0
    },
  }
}
