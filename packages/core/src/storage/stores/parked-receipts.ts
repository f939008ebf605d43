import { asc, inArray } from 'drizzle-orm'
import type { Db } from '../../rows/dialect.ts'
import type { Tables } from '../../rows/tables.ts'
import type { ParkedReceiptReads, ParkedReceiptWrites } from '../ports/inbound.ts'
import { blocksOf, filledUp } from './batches.ts'
import { isAfter } from './pages.ts'

export function parkedReceiptStore(
  db: Db,
  { parked_receipts: t }: Tables,
): ParkedReceiptReads & ParkedReceiptWrites {
  return {
    async due(limit, after) {
      const isLater = isAfter([t.created_at, t.id], after && [after.created_at, after.id])
      const found = db.select().from(t).where(isLater)
      return found.orderBy(asc(t.created_at), asc(t.id)).limit(limit)
    },
    async park(receipts) {
      for (const block of blocksOf(receipts)) await db.insert(t).values(block)
    },
    async remove(ids) {
      if (ids.length === 0) return 0
      const some = inArray(t.id, filledUp(ids))
      return (await db.delete(t).where(some).returning({ id: t.id })).length
    },
  }
}
