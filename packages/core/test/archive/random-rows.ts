import { createHash } from 'node:crypto'
import { type Column, getTableColumns, getTableName, type Table } from 'drizzle-orm'
import { dialects } from '../../src/rows/dialect.ts'
import { tables } from '../../src/rows/tables.ts'
import { connect, migrate } from '../../src/storage/sqlite/engine/connection.ts'

import { insertInto } from '../../src/storage/sqlite/engine/rows.ts'

const UNITS_MAX = 999_999_999_999_999
const INT_MAX = 2 ** 31 - 1
const TIME_MAX = Date.parse('9999-12-31T23:59:59.999Z')

/** What databases, shells and formats trip over. */
const TEXTS = [
  '',
  ' ',
  'null',
  '\\N',
  `'"\`;--`,
  '{a,"b"}',
  'line\nbreak\r\n\ttab\u0001\u007f',
  '\\u0041 \\ \\\\',
  'üñí 漢字 עברית 👩‍👩‍👧 \u2028\ufeff\u{10ffff}',
  '1e9',
]

const JSONS = [
  '{}',
  '[]',
  '["*"]',
  '{"b":1,"a":{"__proto__":{"x":[null,true,1.5e-7]},"constructor":"c"},"":""}',
  '{"z":"\\u0001\\"\\\\","a":"👋","10":1,"9":2}',
]

const t = tables(dialects.sqlite)
const types = tables(dialects.postgres)

/** What the tables check. */
const CHECKED: Record<string, Record<string, (value: number) => number>> = {
  credit_accounts: { held: Math.abs, credit_limit: Math.abs },
  // What remains of a lot is at most what it was.
  credit_lots: {
    amount: (value) => UNITS_MAX - (Math.abs(value) % 9),
    remaining: (value) => Math.abs(value) % 10 ** 12,
  },
  ledger_entries: { amount: (value) => value || 1 },
}

/**
 * Makes a database whose every table has `count` rows, with random values in every column; repeats with the seed. Tables
 * that are named have the number stated there.
 */
export function fillAtRandom(
  file: string,
  seed: string,
  count: number,
  counts: Record<string, number> = {},
): void {
  const random = randomOf(seed)
  const connection = connect(file)
  migrate(connection)
  connection.exec('begin')
  for (const [name, table] of Object.entries<Table>(t)) {
    const insert = insertInto(connection, table)
    const typed = getTableColumns(types[name as keyof typeof types])
    const columns = Object.entries<Column>(typed)
    for (let i = 0; i < (counts[name] ?? count); i++) {
      const row = columns.map(([key, column]) => [key, randomValue(column, i, random)])
      insert(Object.fromEntries(row))
    }
  }
  connection.exec('commit')
  connection.close()
}

/** Numbers from 0 to 1 that repeat with the seed (mulberry32): a hash for each of 100,000 took most of the time. */
function randomOf(seed: string): () => number {
  let state = createHash('sha256').update(seed).digest().readInt32LE()
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

function randomValue(column: Column, i: number, random: () => number): unknown {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
  const whole = (max: number) => pick([0, 1, -1, max, -max, Math.floor((random() * 2 - 1) * max)])
  if (!column.notNull && random() < 0.3) return null
  // Any text may have to be unique; one is empty, where another is null.
  if (column.dataType === 'string') return i === 0 ? '' : `${pick(TEXTS)}${i}`
  if (column.dataType === 'boolean') return random() < 0.5
  if (column.dataType === 'json') return JSON.parse(pick(JSONS))
  if (column.dataType === 'date') {
    return new Date(pick([0, 1, -1, TIME_MAX, -62135596800000, Math.floor(random() * 2e12)]))
  }
  if (column.primary) return i
  const value = whole(column.getSQLType() === 'integer' ? INT_MAX : UNITS_MAX)
  return CHECKED[getTableName(column.table)]?.[column.name]?.(value) ?? value
}
