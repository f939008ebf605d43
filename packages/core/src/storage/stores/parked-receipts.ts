import { asc, inArray } from 'drizzle-orm'
import type { Db } from '../../rows/dialect.ts'
import type { ParkedReceiptRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'

import { blocksOf, filledUp, isAfter } from './queries.ts'

export function parkedReceiptStore(db: Db, { parked_receipts: t }: Tables) {
  return {
    reads: {
      /** Returns the oldest first; with `after`, only later receipts. */
      async due(
        limit: number,
        after?: Pick<ParkedReceiptRow, 'created_at' | 'id'>,
      ): Promise<ParkedReceiptRow[]> {
        const isLater = isAfter([t.created_at, t.id], after && [after.created_at, after.id])
        const found = db.select().from(t).where(isLater)
        return found.orderBy(asc(t.created_at), asc(t.id)).limit(limit)
      },
    },
    writes: {
      async park(receipts: readonly ParkedReceiptRow[]): Promise<void> {
        for (const block of blocksOf(receipts)) await db.insert(t).values(block)
      },
      /** Returns the number of removed receipts. */
      async remove(ids: readonly string[]): Promise<number> {
        if (ids.length === 0) return 0
        const some = inArray(t.id, filledUp(ids))
        return (await db.delete(t).where(some).returning({ id: t.id })).length
      },
    },
  }
}
