import type { SendingDomainRow } from '../rows/rows.ts'
import type { Place } from '../secrets/sealer.ts'

/** The private key of a selector, and the place to which its sealed text is bound. */
export function placeOfDomainKey(
  { workspace_id, id }: Pick<SendingDomainRow, 'workspace_id' | 'id'>,
  selector: string,
): Place {
  // The place has the selector, not the column, because a rotation moves the sealed text to another column.
  return { table: 'sending_domains', column: `private_key ${selector}`, workspace_id, id }
}
