import { emailAddress } from '../contract/fields/email-address.ts'
import { type Column, unguarded } from './columns.ts'

import { type Field, fieldNamed, keyOf } from './headings.ts'
import {
  type CountryCode,
  INVISIBLE,
  type PhoneResult,
  readPhone,
  SCIENTIFIC,
} from './phone-numbers.ts'

/** A person in a row of a table. */
export interface Person {
  name: string | null
  /** In E.164; a text that is no number stays, and `fault` says why. */
  phone: string | null
  email: string | null
  /** What is wrong with the phone number. */
  fault: string | null
  /** Further numbers and addresses of the row. */
  more: { phones: string[]; emails: string[] }
  /** The cells of columns with other fields. */
  cells: Partial<Record<Field, string>>
  attributes: [name: string, value: string][]
}

/** How many numbers of one row are read; the others stay texts. */
const READ_MAX = 5

/** Google puts several values in one cell, people put several numbers. */
const SEVERAL = { phone: /:::|[;\r\n]|,\s/, email: /:::|[;,\r\n]/ }

/** Reads a row. Empty cells are no values. */
export function readPerson(
  columns: readonly Column[],
  row: readonly string[],
  country: CountryCode | undefined,
): Person {
  const cells: Person['cells'] = {}
  const attributes: Person['attributes'] = []
  for (const { at, field, attribute } of columns) {
    const cell = unguarded(row[at] ?? '')
    if (cell.trim() === '' || field === 'ignored') continue
    if (attribute === null) cells[field] ??= cell
    else if (!attributes.some(([name]) => name === attribute)) attributes.push([attribute, cell])
  }
  const phones = valuesOf('phone', columns, row)
  const emails = valuesOf('email', columns, row).map(plainEmail)
  const numbers = phones.slice(0, READ_MAX).map((text) => readPhone(text, country))
  const number = numbers.find(({ phone }) => phone !== undefined) ?? numbers[0]
  const email = emails.find((each) => emailAddress(each) !== null) ?? emails[0] ?? null
  const others = phones.map((text, i) => numbers[i]?.phone ?? text)
  return {
    name: nameOf(cells),
    phone: number ? (number.phone ?? (phones[0] as string)) : null,
    email,
    fault: number?.fault ?? null,
    more: {
      phones: without(others, number && others[(numbers as PhoneResult[]).indexOf(number)]),
      emails: without(emails, email).filter((each) => each.includes('@')),
    },
    cells,
    attributes,
  }
}

function without(values: readonly string[], taken: string | null | undefined): string[] {
  return [...new Set(values)].filter((value) => value !== taken)
}

/** All values of a field in a row, the first choice first. */
function valuesOf(
  field: 'phone' | 'email',
  columns: readonly Column[],
  row: readonly string[],
): string[] {
  const found = columns.flatMap(({ at, field: own, rank, label_at }) => {
    const cell = unguarded(row[at] ?? '').trim()
    if (own !== field || cell === '') return []
    const label = label_at === null ? '' : (row[label_at] ?? '')
    if (keyOf(label).includes('fax')) return []
    return { cell, rank: rank - (fieldNamed(label)?.rank === 0 ? 1 : 0) }
  })
  return found
    .sort((a, b) => a.rank - b.rank)
    .flatMap(({ cell }) =>
      // `4,91511E+12` is one value.
      SCIENTIFIC.test(cell)
        ? cell
        : cell.split(SEVERAL[field]).flatMap((each) => each.trim() || []),
    )
}

/** An address as people and programs copy it: with marks, as a link, or with the name of its owner. */
function plainEmail(text: string): string {
  const plain = text.replace(INVISIBLE, '').trim()
  return (/<([^<>]+)>$/.exec(plain)?.[1] ?? plain).replace(/^mailto:/i, '').trim()
}

/**
 * The full name. In some languages the heading of the family name is “Name”, and in others that of the first name: the part that
 * the name does not contain is added.
 */
function nameOf({
  name = '',
  first_name = '',
  middle_name = '',
  last_name = '',
}: Person['cells']): string | null {
  if (name !== '' && (first_name === '') === (last_name === '')) return name
  const contains = (part: string) => name.toLowerCase().includes(part.trim().toLowerCase())
  const first = name !== '' && contains(first_name) ? '' : first_name
  const last = name !== '' && contains(last_name) ? '' : last_name
  const parts = [first, name === '' ? middle_name : '', name, last]
  return (
    parts
      .map((part) => part.trim())
      .filter(Boolean)
      .join(' ') || null
  )
}
