import type { ContactRow } from '../rows/rows.ts'
import type { ContactFilter } from '../storage/ports/contacts.ts'
import type { Reads } from '../storage/ports/storage.ts'

/** The number of contacts in a page. A page takes a few milliseconds of the database and a few hundred kilobytes. */
const PAGE_ROWS = 500

/** Returns all contacts that match the filter, newest first. Each page is read when the caller requests it. */
export async function* exportContacts(
  read: Pick<Reads, 'contacts'>,
  workspaceId: string,
  filter: ContactFilter,
): AsyncGenerator<ContactRow[]> {
  let after: string | undefined
  for (;;) {
    const page = { limit: PAGE_ROWS, offset: 0, after }
    const rows = await read.contacts.list(workspaceId, filter, page)
    if (rows.length > 0) yield rows
    if (rows.length < PAGE_ROWS) return
    after = rows.at(-1)?.id
    // A database in this thread blocks the event loop, so other work gets its turn between two pages.
    await new Promise((resolve) => setImmediate(resolve))
  }
}
