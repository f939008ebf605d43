import { csvText } from '../../parts/csv.ts'
import { api } from '../../shell/api.ts'
import { count } from '../../shell/format.ts'
import { textOf } from './recipients.ts'

/** Which contacts; without both: all. */
export interface Filter {
  search?: string
  tag?: string
}

/** The greatest maximum that an operator can set for a bulk; the service names its own. */
const CONTACTS_MAX = 10_000
/** The maximum number of variables of a recipient. */
const VARIABLES_MAX = 100

/** Contacts as the text of recipients: those that a search and a tag find. */
export async function contactsText({ search, tag }: Filter): Promise<string> {
  const filter = { search: search?.trim() || undefined, tag: tag?.trim() || undefined }
  const { pagination } = await api.contacts.list({ ...filter, limit: 1 })
  const { total } = pagination
  if (total === 0) throw new Error('No contact matches.')
  if (total > CONTACTS_MAX) {
    throw new Error(`${count(total, 'contact')} match, too many for a bulk. Choose some by a tag.`)
  }
  const { contacts } = await api.contacts.export(filter)
  const rows = contacts.map(
    ({ phone, email, name, attributes: { to: _, ...more } }): Record<string, unknown> => ({
      ...more,
      phone,
      email,
      name,
    }),
  )
  const columns = [...new Set(['phone', 'email', 'name', ...rows.flatMap(Object.keys)])]
  const kept = columns.slice(0, VARIABLES_MAX)
  return csvText([kept, ...rows.map((row) => kept.map((one) => textOf(row[one])))])
}
