import type { AddressesSeen } from './addresses-seen.ts'
import type { Batch } from './batches.ts'
import type { Row } from './columns.ts'
import { contactKey } from './read-results.ts'

/** Separates the rows whose recipient was in an earlier batch. The server finds only duplicates within one batch. */
export function splitBySeen(
  { rows }: Batch,
  seen: AddressesSeen,
  keyOf: (to: string) => string,
): { fresh: Row[]; repeated: Row[] } {
  const fresh: Row[] = []
  const repeated: Row[] = []
  for (const row of rows) {
    const { to, contact_id } = row.recipient
    const isSeen =
      (to !== undefined && seen.has(keyOf(to))) ||
      (contact_id !== undefined && seen.has(contactKey(contact_id)))
    if (isSeen) repeated.push(row)
    else fresh.push(row)
  }
  return { fresh, repeated }
}
