import type { ContactRow } from '../rows/rows.ts'
import type { ContactFilter } from '../storage/ports/contacts.ts'
import type { Reads } from '../storage/ports/storage.ts'

/** So many are read at a time: a page is a few milliseconds of the database, and a few hundred kilobytes. */
const PAGE_ROWS = 500

/** All contacts that the filter lets through, newest first, read as they are asked for. */
export async function* exportContacts(
  read: Pick<Reads, 'contacts'>,
  workspaceId: string,
  filter: ContactFilter,
): AsyncGenerator<ContactRow[]> {
  let before_id: string | undefined
  for (;;) {
    const page = { limit: PAGE_ROWS, offset: 0 }
    const rows = await read.contacts.list(workspaceId, { ...filter, before_id }, page)
    if (rows.length > 0) yield rows
    if (rows.length < PAGE_ROWS) return
    before_id = rows.at(-1)?.id
    // A database in this thread answers at once: between two pages it is others' turn.
    await new Promise((resolve) => setImmediate(resolve))
  }
}
