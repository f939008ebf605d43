/**
 * The rows of a table of PostgreSQL from which an index is made while servers write to it. A smaller table is locked for
 * less than a second.
 */
export const ONLINE_FROM_ROWS = 50_000

/** What one statement of a migration does to a database with rows. */
export interface SchemaChange {
  /** The tables that were there before the migration, and that the statement reads or changes. */
  tables: readonly string[]
  /** Why an older server cannot run beside it; null if it can. */
  breaks: string | null
  /** The work that grows with the rows of the tables. */
  work: 'none' | 'index' | 'read' | 'rewrite'
}

/** What the migration has made so far. */
interface Made {
  tables: Set<string>
  /** `table.column` */
  columns: Set<string>
  /** The names of the indexes that the migration creates, also later. */
  indexes: Set<string>
}

const NONE: SchemaChange = { tables: [], breaks: null, work: 'none' }

const CREATE_TABLE = /^create (?:unlogged )?table (?:if not exists )?(\w+)/
const CREATE_INDEX =
  /^create (unique )?index (?:concurrently )?(?:if not exists )?(\w+) on (?:only )?(\w+)(?: using \w+)? ?\((.*)$/
const ALTER_TABLE = /^alter table (?:only )?(\w+) (.+)$/
const ADD_COLUMN = /^add (?:column )?(?:if not exists )?(\w+) (.+)$/
const DROP_INDEX = /^drop index (?:concurrently )?(?:if exists )?(\w+)$/
const CHANGE_ROWS = /^(?:with |insert into |update |delete from )/

/**
 * What the statements of a migration do, one entry for each statement. An unknown statement counts as one that older
 * servers do not survive.
 */
export function changesOf(sql: readonly string[]): SchemaChange[] {
  const statements = sql.flatMap(statementsOf)
  const indexes = statements.flatMap((text) => CREATE_INDEX.exec(text)?.[2] ?? [])
  const made: Made = { tables: new Set(), columns: new Set(), indexes: new Set(indexes) }
  return statements.map((text) => changeOf(text, made))
}

/** The name and the table of the index that a statement creates; null for another statement. */
export function indexOf(statement: string): { name: string; table: string } | null {
  const [text = '', ...more] = statementsOf(statement)
  const [, , name, table] = (more.length === 0 && CREATE_INDEX.exec(text)) || []
  return name && table ? { name, table } : null
}

/** The statements in lower case, with single blanks and without comments and quotes of names. */
function statementsOf(text: string): string[] {
  const plain = text
    .replaceAll(/--[^\n]*/g, ' ')
    .replaceAll(/["`]/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .toLowerCase()
  // The body of a function or a trigger has semicolons.
  const parts = /^create (or replace )?(function|trigger)/.test(plain) ? [plain] : plain.split(';')
  return parts.map((part) => part.trim()).filter((part) => part !== '')
}

function changeOf(text: string, made: Made): SchemaChange {
  const [, table] = CREATE_TABLE.exec(text) ?? []
  if (table) {
    made.tables.add(table)
    return NONE
  }
  const index = CREATE_INDEX.exec(text)
  if (index) return newIndex(index, made)
  const altered = ALTER_TABLE.exec(text)
  if (altered) return alteredTable(altered, made)
  const [, dropped] = DROP_INDEX.exec(text) ?? []
  if (dropped) {
    const breaks = made.indexes.has(dropped) ? null : `drops the index ${dropped}`
    return { ...NONE, breaks }
  }
  if (CHANGE_ROWS.test(text)) {
    const named = text.matchAll(/\b(?:from|into|update|join) (\w+)/g)
    const tables = [...new Set([...named].map(([, name = '']) => name))]
    return {
      tables: tables.filter((name) => !made.tables.has(name)),
      breaks: 'changes rows, which older servers still write in the old form',
      work: 'read',
    }
  }
  if (/^create (or replace )?function /.test(text)) return NONE
  const [, guarded = ''] = /^create trigger .* on (\w+)/.exec(text) ?? []
  if (made.tables.has(guarded)) return NONE
  if (guarded !== '') return { ...NONE, breaks: `adds a trigger to ${guarded}` }
  return { ...NONE, breaks: `does "${text.slice(0, 40)}"` }
}

function newIndex(
  [, unique, name, table = '', definition = '']: RegExpExecArray,
  made: Made,
): SchemaChange {
  if (made.tables.has(table)) return NONE
  // Older servers write null into a new column, and a unique index permits many nulls.
  const [columns = ''] = definition.split(/\)(?: where |$)/, 1)
  const isNew = columns.split(',').some((each) => made.columns.has(`${table}.${each.trim()}`))
  const breaks =
    unique && !isNew ? `the unique index ${name} may refuse rows of older servers` : null
  return { tables: [table], breaks, work: 'index' }
}

function alteredTable([, table = '', action = '']: RegExpExecArray, made: Made): SchemaChange {
  if (made.tables.has(table) && !action.startsWith('rename')) return NONE
  const on: SchemaChange = { tables: [table], breaks: null, work: 'none' }
  if (action.replaceAll(/\([^()]*\)/g, '').includes(',')) {
    return { ...on, breaks: `changes ${table} in several ways`, work: 'rewrite' }
  }
  const [, column = '', definition = ''] = ADD_COLUMN.exec(action) ?? []
  if (column !== '' && column !== 'constraint') {
    const isRequired = / not null\b/.test(` ${definition}`) && !/\bdefault\b/.test(definition)
    if (isRequired) return { ...on, breaks: `older servers write no value for ${table}.${column}` }
    if (/\b(unique|references|primary key|check|generated)\b/.test(definition)) {
      return { ...on, breaks: `adds a constraint to ${table}`, work: 'read' }
    }
    // A default of null only: an older server writes the default, so a unique index would refuse its second row.
    if (!/\bdefault\b/.test(definition)) made.columns.add(`${table}.${column}`)
    // PostgreSQL computes each value of a default that is no constant.
    const [, value = ''] = definition.split(/\bdefault /)
    const [beforeText = ''] = value.split("'", 1)
    return { ...on, work: beforeText.includes('(') ? 'rewrite' : 'none' }
  }
  if (/^alter (column )?\w+ set default /.test(action)) return on
  if (/^alter (column )?\w+ (set data )?type /.test(action)) {
    return { ...on, breaks: `changes the type of a column of ${table}`, work: 'rewrite' }
  }
  if (/^(add constraint|alter (column )?\w+ set not null)/.test(action)) {
    return { ...on, breaks: `adds a constraint to ${table}`, work: 'read' }
  }
  return { ...on, breaks: `does "alter table ${table} ${action.slice(0, 40)}"` }
}
