import { and, eq, gt, or, type SQL } from 'drizzle-orm'
import type { Tables } from '../../rows/tables.ts'
import type { Overdue } from '../ports/credits.ts'

/** Whether a row comes behind `after`, in the order of when it ran out; every one does behind null. */
export function isBehind(
  { expires_at, id }: Tables['credit_holds'] | Tables['credit_lots'],
  after: Overdue | null,
): SQL | undefined {
  if (after === null) return undefined
  const isTie = and(eq(expires_at, after.expires_at), gt(id, after.id))
  return or(gt(expires_at, after.expires_at), isTie)
}
