import { and, asc, eq, gt, lt, lte, or, type SQL } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import type { Db } from '../../rows/dialect.ts'

/** Whether a row comes after the id `after` in a list with the newest first; every row does if there is no `after`. */
export function isBelow(id: PgColumn, after: string | undefined): SQL | undefined {
  return after === undefined ? undefined : lt(id, after)
}

/** Whether a row comes after the values `last` in the order of two columns; every row comes after null. */
export function isAfter(
  [first, second]: readonly [PgColumn, PgColumn],
  last: readonly [unknown, unknown] | null | undefined,
): SQL | undefined {
  if (!last) return undefined
  return or(gt(first, last[0]), and(eq(first, last[0]), gt(second, last[1])))
}

/**
 * Removes about `limit` of the rows that `condition` selects, the oldest by the column `by` first. Rows of equal age
 * are removed together. Returns the number of removed rows.
 */
export async function removeOldest(
  db: Db,
  { from: t, by, condition }: { from: PgTable; by: PgColumn; condition: SQL | undefined },
  limit: number,
): Promise<number> {
  const oldest = db.select({ at: by }).from(t).where(condition).orderBy(asc(by))
  const [last] = await oldest.limit(1).offset(limit - 1)
  const some = last ? and(condition, lte(by, last.at)) : condition
  return (await db.delete(t).where(some).returning({ at: by })).length
}
