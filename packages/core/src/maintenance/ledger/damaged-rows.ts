import { type Column, getTableColumns, type Table } from 'drizzle-orm'
import { UNITS_MAX } from '../../contract/fields/units.ts'
import { MESSAGE_STATUSES } from '../../contract/resources/message.ts'
import { ENTRY_KINDS } from '../../rows/credits.ts'
import { dialects } from '../../rows/dialect.ts'
import { tables } from '../../rows/tables.ts'
import type { Snapshot, ValueType } from '../snapshot/snapshot.ts'
import type { LedgerDifference } from './report.ts'
import type { Run } from './run.ts'
import { slicesOf } from './slices.ts'

const TABLES = tables(dialects.sqlite)

/** The tables of the books with the keys of their rows; the accounts first, because they define the slices. */
const BOOKS = {
  credit_accounts: 'workspace_id',
  ledger_entries: 'seq',
  messages: 'id',
  bulks: 'id',
  credit_holds: 'id',
  credit_lots: 'id',
  purchases: 'id',
  message_counts: 'channel',
} as const
type Book = keyof typeof BOOKS

/** The allowed values of columns. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  'ledger_entries.kind': ENTRY_KINDS,
  'messages.status': MESSAGE_STATUSES,
  'credit_accounts.status': ['active', 'frozen'],
}

/** Up to this number of entries the sums of a chain stay within 64 bits. */
const SEQ_MAX = 1_000_000_000

const TYPES: Readonly<Record<string, ValueType>> = {
  SQLiteText: 'text',
  SQLiteTextJson: 'json',
  SQLiteInteger: 'number',
  SQLiteBoolean: 'boolean',
  SQLiteTimestamp: 'time',
}

const SHOULD: Readonly<Record<ValueType, string>> = {
  text: 'a text',
  json: 'JSON',
  number: `a whole number of at most ${UNITS_MAX}`,
  boolean: 'true or false',
  time: 'a time',
}

interface ColumnRule {
  name: string
  /** SQL: whether the value in the column of a row `t` is not of the column's type. */
  fault: string
  stands: string
  should: string
}

/**
 * Reports rows of the books that have unreadable values, column by column, by key, and returns the database without these
 * rows: later sums and comparisons use the rest. Contents of messages are not reported.
 */
export async function leaveOutDamagedRows(run: Run): Promise<Snapshot> {
  let { snapshot } = run
  const sound = new Map<Book, string>()
  for (const [i, book] of (Object.keys(BOOKS) as Book[]).entries()) {
    run.report('damaged rows', i, Object.keys(BOOKS).length)
    const rules = rulesOf(run, book)
    if (await nameDamaged(run, snapshot, book, rules)) {
      sound.set(book, `not (${anyOf(rules)})`)
      snapshot = without(run.snapshot, sound)
    }
  }
  return snapshot
}

async function nameDamaged(
  { snapshot: whole, workspaceId, max, found }: Run,
  snapshot: Snapshot,
  book: Book,
  rules: readonly ColumnRule[],
): Promise<boolean> {
  const key = BOOKS[book]
  const isSliced = book === 'ledger_entries' || book === 'messages'
  const all = {
    where: workspaceId === null ? 'true' : 't.workspace_id = :workspace',
    values: { workspace: workspaceId },
  }
  const slices = isSliced
    ? slicesOf(snapshot, { table: book, key: key as 'seq' | 'id' }, workspaceId)
    : [all]
  let isDamaged = false
  for await (const { where, values } of slices) {
    const any = `select 1 as damaged from ${book} t where ${where} and (${anyOf(rules)}) limit 1`
    if ((await whole.rows(any, values)).length === 0) continue
    isDamaged = true
    for (const { name, fault, stands, should } of rules) {
      const rows = await whole.rows<Pick<LedgerDifference, 'workspace_id' | 'about' | 'stands'>>(
        `select coalesce(cast(t.workspace_id as text), '') as workspace_id,
           '${book}:' || coalesce(cast(t.${key} as text), 'NULL') || '.${name}' as about, ${stands} as stands
         from ${book} t where ${where} and (${fault}) order by t.${key} limit ${max + 1}`,
        values,
      )
      found(rows.map((row) => ({ check: 'row', ...row, seq: null, should })))
    }
  }
  return isDamaged
}

function anyOf(rules: readonly ColumnRule[]): string {
  return rules.map(({ fault }) => `(${fault})`).join(' or ')
}

function rulesOf({ snapshot, isThorough }: Run, book: Book): ColumnRule[] {
  const columns = Object.values(getTableColumns(TABLES[book] as unknown as Table))
  return columns.flatMap((column) => ruleOf(snapshot, book, column, isThorough) ?? [])
}

function ruleOf(
  snapshot: Snapshot,
  book: Book,
  { name, notNull, columnType }: Column,
  isThorough: boolean,
): ColumnRule | null {
  const type = TYPES[columnType]
  if (type === undefined) throw new Error(`${book}.${name} has a type of its own: ${columnType}`)
  // Contents are long, and no sum uses them.
  if (type === 'json' && !isThorough) return null
  const at = `t.${name}`
  const words = WORDS[`${book}.${name}`]
  const faults = [snapshot.isNo(type, at)]
  if (type === 'number') faults.push(`${at} not between ${-UNITS_MAX} and ${UNITS_MAX}`)
  if (words) faults.push(`${at} not in (${words.map((word) => `'${word}'`).join(', ')})`)
  if (name === 'seq') faults.push(`${at} not between 0 and ${SEQ_MAX}`)
  if (name === 'unit_price') {
    faults.push(`abs(t.quantity) > 1 and abs(${at}) > ${UNITS_MAX} / abs(t.quantity)`)
  }
  const wrong = faults.map((fault) => `(${fault})`).join(' or ')
  const isContent = words === undefined && (type === 'text' || type === 'json')
  const orNull = notNull ? '' : ', or NULL'
  return {
    name,
    fault: notNull ? `${at} is null or ${wrong}` : `${at} is not null and (${wrong})`,
    stands: snapshot.shown(type, at, { isContent }),
    should: `${words ? `one of ${words.join(', ')}` : SHOULD[type]}${orNull}`,
  }
}

/** The same database, with only the rows of each table for which the condition on `t` is true. */
function without(snapshot: Snapshot, sound: ReadonlyMap<Book, string>): Snapshot {
  const views = [...sound].map(
    ([book, condition]) =>
      `${book} as not materialized (select t.* from ${snapshot.base(book)} t where ${condition})`,
  )
  const head = `with ${views.join(', ')} `
  return {
    ...snapshot,
    rows: (text, values) => snapshot.rows(head + text.replace(/ indexed by \w+/g, ''), values),
  }
}
