import { TableFault } from './encoding.ts'
import {
  FIELDS,
  type Field,
  fieldNamed,
  isAddressBook,
  keptOfAddressBook,
  keyOf,
} from './headings.ts'

/** The columns of an exported file, in order. An imported file may have them in any order. */
export const CSV_COLUMNS = [
  'id',
  'name',
  'phone',
  'email',
  'external_id',
  'tags',
  'attributes',
  'unsubscribed',
  'created_at',
  'updated_at',
] as const

export type CsvColumn = (typeof CSV_COLUMNS)[number]

/** The start of a formula in a spreadsheet, also in full-width forms. Some spreadsheets drop blanks before it. */
const FORMULA = /^['\s]*[=+\-@\t\r\n＝＋－＠]/

const GUARDED = /^'['\s]*[=+\-@\t\r\n＝＋－＠]/

/** A phone number is a harmless formula, and programs that read the file expect it unchanged. */
const PHONE = /^\+\d+$/

/** Puts an apostrophe before text that a spreadsheet would run; `unguarded` removes exactly this apostrophe. */
export function guarded(cell: string): string {
  return FORMULA.test(cell) && !PHONE.test(cell) ? `'${cell}` : cell
}

/** The cell as it was before `guarded`. */
export function unguarded(cell: string): string {
  return GUARDED.test(cell) ? cell.slice(1) : cell
}

/** What a column of a table is. */
export interface Column {
  at: number
  /** The heading. */
  name: string
  field: Field
  /** If several columns have the field, the one with the lowest rank that has a value in a row is taken. */
  rank: number
  /** The name of the attribute, for the field `attribute`. */
  attribute: string | null
  /** The position of the column that says what kind of number this is; null for none. */
  label_at: number | null
}

/** The columns of a table, and what a person should know about them. */
export interface Mapping {
  columns: Column[]
  warnings: string[]
}

/** How many rows show what a column contains. */
export const SAMPLE_ROWS = 100

/** The share of cells of a column that are addresses, if it is a column of addresses. */
const SHARE = 0.6

const LOOKS: Record<'email' | 'phone', RegExp> = {
  email: /^[^\s@<>]+@[^\s@<>.]+(?:\.[^\s@<>.]+)+$/,
  phone: /^(?:\+|00)[1-9][\d\s()./-]{5,24}$/,
}

const KNOWN = new Set<string>(CSV_COLUMNS)

/**
 * Says what each column is: what `chosen` says of its heading, else what the heading means. A column with an unknown heading is
 * an attribute. Exports of address books have dozens of columns; those without use for messages are ignored.
 * @throws TableFault for a header that cannot be read, and if a column looks like the only one with addresses, but has an
 * unknown heading.
 */
export function mapColumns(
  header: readonly string[],
  {
    sample,
    chosen = {},
  }: {
    sample: readonly (readonly string[])[]
    chosen?: Readonly<Record<string, string>> | undefined
  },
): Mapping {
  const names = header.map((cell) => cell.trim())
  if (names.some((name) => LOOKS.email.test(name) || LOOKS.phone.test(name))) {
    throw new TableFault('it needs a header row: the first row has an address')
  }
  assertDistinct(names)
  const cellsOf = (at: number) => sample.flatMap((cells) => cells[at]?.trim() || [])
  const nameless = names.findIndex((name, at) => name === '' && cellsOf(at).length > 0)
  if (nameless !== -1) throw new TableFault(`column ${nameless + 1} has no name`)
  const choices = choicesOf(names, chosen)
  const isBook = isAddressBook(names)
  const columns = names.map((name, at): Column => {
    const choice = choices.get(name)
    const found = choice ? { field: choice, rank: -1 } : fieldNamed(name)
    if (found) return columnOf({ at, name, ...found }, names)
    if (name === '') return columnOf({ at, name, field: 'ignored', rank: 0 }, names)
    const attribute = isBook ? keptOfAddressBook(name) : name
    if (attribute === null) return columnOf({ at, name, field: 'ignored', rank: 0 }, names)
    return { ...columnOf({ at, name, field: 'attribute', rank: 0 }, names), attribute }
  })
  return { columns, warnings: isBook ? [] : warningsOf(columns, { cellsOf, choices }) }
}

/** @throws TableFault if two columns have one name. The names of our own columns are compared without case. */
export function assertDistinct(names: readonly string[], own: ReadonlySet<string> = KNOWN): void {
  const known = names.map((name) => (own.has(name.toLowerCase()) ? name.toLowerCase() : name))
  const second = known.findIndex((name, at) => name !== '' && known.indexOf(name) !== at)
  if (second === -1) return
  const name = known[second] as string
  throw new TableFault(
    `columns ${known.indexOf(name) + 1} and ${second + 1} are both named ${name}`,
  )
}

function columnOf(
  { at, name, field, rank }: Pick<Column, 'at' | 'name' | 'field' | 'rank'>,
  names: readonly string[],
): Column {
  const stem = field === 'phone' && /^(.*\d) - value$/.exec(name.toLowerCase())?.[1]
  const label = stem
    ? names.findIndex((each) => [`${stem} - label`, `${stem} - type`].includes(each.toLowerCase()))
    : -1
  const attribute = field === 'attribute' ? name : null
  return { at, name, field, rank, attribute, label_at: label === -1 ? null : label }
}

function choicesOf(
  names: readonly string[],
  chosen: Readonly<Record<string, string>>,
): Map<string, Field> {
  const choices = new Map<string, Field>()
  for (const [heading, field] of Object.entries(chosen)) {
    const name =
      names.find((each) => each === heading) ?? names.find((each) => keyOf(each) === keyOf(heading))
    if (name === undefined) {
      throw new TableFault(`it has no column named ${heading}: it has ${names.join(', ')}`)
    }
    if (!FIELDS.includes(field as Field)) {
      throw new TableFault(
        `the column ${heading} cannot be ${field}: choose one of ${FIELDS.join(', ')}`,
      )
    }
    choices.set(name, field as Field)
  }
  return choices
}

/** Columns of addresses whose headings say nothing. Their addresses would be lost among the attributes. */
function warningsOf(
  columns: readonly Column[],
  { cellsOf, choices }: { cellsOf: (at: number) => string[]; choices: ReadonlyMap<string, Field> },
): string[] {
  const warnings: string[] = []
  for (const { at, name, field: own } of columns) {
    if (own !== 'attribute' || choices.has(name)) continue
    const cells = cellsOf(at)
    const field = (['email', 'phone'] as const).find(
      (each) =>
        cells.length > 0 &&
        cells.filter((cell) => LOOKS[each].test(cell)).length >= cells.length * SHARE,
    )
    if (!field) continue
    const what = field === 'email' ? 'e-mail addresses' : 'phone numbers'
    if (columns.every((column) => column.field !== field)) {
      throw new TableFault(
        `the column ${name} has ${what}, and its heading is not known: name it ${field}, or say with "columns" what it is`,
      )
    }
    warnings.push(
      `The column ${name} has ${what}, but is imported as an attribute, because another column is the ${field}`,
    )
  }
  return warnings
}
