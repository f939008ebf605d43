import { existsSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import type Database from 'better-sqlite3'
import type { CountUnit } from '../../rows/messages.ts'
import { migrationsOf, statusOf } from '../../storage/migrations.ts'
import { appliedIn, type Connection, Sqlite } from '../../storage/sqlite/engine/connection.ts'

import { refusal } from '../refusal.ts'
import { assertReadable, type NamedValues, type Snapshot, type ValueType } from './snapshot.ts'

/** How long a statement waits for another process that writes. */
const BUSY_TIMEOUT_MS = 5_000

/** The largest distance of a Date from 1970, in milliseconds. */
const DATE_MAX_MS = 8_640_000_000_000_000

/** A file may contain any value: another tool may ignore the types, or the disk may be damaged. */
const NONE_OF: Readonly<Record<ValueType, (column: string) => string>> = {
  text: (column) => `typeof(${column}) <> 'text'`,
  json: (column) => `typeof(${column}) <> 'text' or not json_valid(${column})`,
  number: (column) => `typeof(${column}) <> 'integer'`,
  boolean: (column) => `typeof(${column}) <> 'integer' or ${column} not in (0, 1)`,
  time: (column) =>
    `typeof(${column}) <> 'integer' or ${column} not between -${DATE_MAX_MS} and ${DATE_MAX_MS}`,
}

/** A connection that changes neither the file, even if it is not a database of svc, nor its journal mode. */
export function look(file: string): Connection {
  return new Sqlite(file, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT_MS })
}

const UNIT_MS = { hour: 3_600_000, day: 86_400_000 }

function startOf(unit: CountUnit, column: string): string {
  if (unit === 'all') return '0'
  const ms = UNIT_MS[unit]
  return `(${column} - (${column} % ${ms} + ${ms}) % ${ms})`
}

/** One read transaction on a connection that cannot write; a server on the same file continues meanwhile. */
export async function onSqliteSnapshot<T>(
  file: string,
  work: (snapshot: Snapshot) => Promise<T>,
): Promise<T> {
  if (!existsSync(file)) throw refusal('not_found', `there is no database at ${file}`)
  const connection = look(file)
  try {
    // The page cache keeps its small default size: scans of a million entries take 0.1 s less than with 64 MB.
    connection.exec('begin')
    assertReadable(statusOf(migrationsOf('sqlite'), appliedIn(connection)))
    const statements = new Map<string, Database.Statement>()
    return await work({
      async rows<Row>(text: string, values: NamedValues = {}) {
        const statement = statements.get(text) ?? connection.prepare(text)
        statements.set(text, statement)
        const bound = Object.entries(values).map(([name, value]) => [
          name,
          value instanceof Date ? value.getTime() : value,
        ])
        const rows = statement.all(Object.fromEntries(bound)) as Row[]
        // This turn of the event loop lets a stop signal take effect.
        await setImmediate()
        return rows
      },
      isNo: (type, column) => NONE_OF[type](column),
      shown: (_, column, { isContent }) =>
        `case typeof(${column}) when 'null' then 'NULL' when 'integer' then cast(${column} as text)
           when 'real' then cast(${column} as text) when 'text' then ${isContent ? `'text of ' || length(${column}) || ' characters'` : `'"' || substr(${column}, 1, 40) || '"'`}
           else typeof(${column}) || ' of ' || length(${column}) || ' bytes' end`,
      startOf,
      base: (table) => `main.${table}`,
      leavingMonths: async () => [],
      // The mark is one random character of an id: SQLite has no cheaper hash, and each further character costs 0.05 s
      // for a million rows.
      markOf: (column) => `ifnull(unicode(substr(${column}, 18)), 1)`,
    })
  } finally {
    connection.close()
  }
}
