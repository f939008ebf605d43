import type { Channel } from '../contract/resources/content.ts'
import { assertDistinct, type Column, unguarded } from './columns.ts'

import { TableFault } from './encoding.ts'
import { type Field, fieldNamed, keyOf } from './headings.ts'
import { type Person, readPerson } from './people.ts'
import type { CountryCode } from './phone-numbers.ts'

/** A recipient of a bulk in a row of a table. */
export interface TableRecipient {
  /** The address; null for a row without one. A text that is no phone number stays, and `fault` says why. */
  to: string | null
  fault: string | null
  contact_id: string | null
  name: string | null
  /** The other cells by their headings, and by the names of their fields (`first_name`). */
  values: Map<string, string>
}

/** Reads recipients according to a header. */
export interface RecipientColumns {
  headings: string[]
  /** What each column is: `to`, `contact_id`, `name` or `variable`. */
  described: { name: string; field: string }[]
  read(cells: readonly string[], country: CountryCode | undefined): TableRecipient
}

/** The headings of addresses for any channel; the first of them is taken. */
const TO = ['to', 'recipient', 'address']

const CONTACT_ID = 'contact_id'

const OWN = new Set([...TO, CONTACT_ID, 'phone', 'email', 'name'])

const NAMES: readonly Field[] = ['name', 'first_name', 'middle_name', 'last_name']

/**
 * The columns of a table of recipients. The address is in the column `to_column`, else in `to`, else in the columns whose
 * headings mean a phone number (an address, for e-mail), else in `recipient` or `address`. Returns null without any of these and without
 * `contact_id`.
 * @throws TableFault for a header that cannot be read, and for a `to_column` that it does not have.
 */
export function recipientColumnsOf(
  header: readonly string[],
  { channel, to_column }: { channel: Channel; to_column?: string | undefined },
): RecipientColumns | null {
  const headings = header.map((cell) => cell.trim())
  assertDistinct(headings, OWN)
  const nameless = headings.indexOf('')
  if (nameless !== -1) throw new TableFault(`column ${nameless + 1} has no name`)
  const field = channel === 'email' ? 'email' : 'phone'
  const fields = headings.map((heading) => fieldNamed(heading))
  const at = (name: string) => headings.findIndex((heading) => heading.toLowerCase() === name)
  const addresses = addressesOf()
  const contact_id = Math.max(at(CONTACT_ID), at('contact id'))
  if (addresses.length === 0 && contact_id === -1) return null
  const columns = headings.map((name, at): Column => {
    const rank = addresses.indexOf(at)
    const own = fields[at]?.field
    if (rank !== -1) return { at, name, field, rank, attribute: null, label_at: null }
    const isName = own !== undefined && NAMES.includes(own)
    return { at, name, field: isName ? own : 'ignored', rank: 0, attribute: null, label_at: null }
  })
  return {
    headings,
    described: headings.map((name, i) => ({ name, field: roleOf(i) })),
    read(cells, country) {
      const person = readPerson(columns, cells, country)
      const id = contact_id === -1 ? '' : (cells[contact_id] ?? '').trim()
      return {
        to: person[field],
        fault: field === 'phone' ? person.fault : null,
        contact_id: id || null,
        name: person.name,
        values: valuesOf(cells, person),
      }
    },
  }

  function roleOf(i: number): string {
    if (addresses.includes(i)) return 'to'
    if (i === contact_id) return 'contact_id'
    return i === at('name') ? 'name' : 'variable'
  }

  function addressesOf(): number[] {
    if (to_column !== undefined) {
      const chosen = headings.findIndex(
        (heading) => heading === to_column || keyOf(heading) === keyOf(to_column),
      )
      if (chosen !== -1) return [chosen]
      throw new TableFault(`it has no column named ${to_column}: it has ${headings.join(', ')}`)
    }
    if (at('to') !== -1) return [at('to')]
    const found = fields
      .flatMap((each, i) => (each?.field === field ? { i, rank: each.rank } : []))
      .sort((a, b) => a.rank - b.rank)
      .map(({ i }) => i)
    return found.length > 0
      ? found
      : TO.map(at)
          .filter((each) => each !== -1)
          .slice(0, 1)
  }

  function valuesOf(cells: readonly string[], { cells: read }: Person): Map<string, string> {
    const values = new Map<string, string>()
    for (const [i, heading] of headings.entries()) {
      const cell = unguarded(cells[i] ?? '')
      if (cell === '' || addresses.includes(i) || i === contact_id || at('name') === i) continue
      values.set(heading, read[fields[i]?.field as Field] ?? cell)
    }
    for (const [i, heading] of headings.entries()) {
      const own = fields[i]?.field
      const value = values.get(heading)
      if (own && own !== 'name' && own !== 'ignored' && value !== undefined && !values.has(own))
        values.set(own, value)
    }
    return values
  }
}
