import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { getTableName } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createChecksum } from '../../src/maintenance/archive/checksum.ts'
import { archiveTables } from '../../src/maintenance/archive/tables.ts'
import { dialects } from '../../src/rows/dialect.ts'
import { tables } from '../../src/rows/tables.ts'
import { migrationsOf } from '../../src/storage/migrations.ts'
import { migrate, Sqlite } from '../../src/storage/sqlite/engine/connection.ts'
import { createEmptyDatabase, type TestDatabase } from '../postgres-database.ts'
import { archiveOf, exported, imported, linesOf, rowsOf } from './move.ts'
import { fillAtRandom } from './random-rows.ts'

const ROWS = 300
/** How many steps of the schema an older program had. */
const OLDER_STEPS = 2
/** The nullable columns that later steps added to tables that are the same otherwise. */
const LATER_COLUMNS = laterColumns()

let folder: string
let database: TestDatabase
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-archive-'))
  database = await createEmptyDatabase()
})
afterEach(async () => {
  await database.drop()
  await rm(folder, { recursive: true })
})

const file = (name: string) => join(folder, name)
const url = (name: string) => `file:${file(name)}`

describe('a move', () => {
  it('has every table of the schema, and every column', async () => {
    const names = Object.values(tables(dialects.sqlite)).map(getTableName)
    expect(archiveTables().map(({ table }) => table)).toEqual(names)
    fillAtRandom(file('a.db'), 'tables', 1)
    const { report } = await exported(url('a.db'))
    expect(report.tables.map(({ table, rows }) => [table, rows])).toEqual(
      names.map((name) => [name, 1]),
    )
    const client = await database.connect()
    await imported(database.url, (await exported(url('a.db'))).bytes)
    for (const { table, columns } of archiveTables()) {
      const { rows } = await client.query(
        'select column_name from information_schema.columns where table_name = $1',
        [table],
      )
      expect(columns.map(({ name }) => name).sort()).toEqual(
        rows.map(({ column_name }) => column_name).sort(),
      )
    }
  })

  it('goes by steps of the schema that both engines have under the same names', () => {
    const names = (engine: 'sqlite' | 'postgres') => migrationsOf(engine).map(({ name }) => name)
    expect(names('sqlite')).toEqual(names('postgres'))
    expect(names('sqlite')[0]).toBe('0000_init')
  })

  it('from SQLite to PostgreSQL and back loses nothing', async () => {
    fillAtRandom(file('a.db'), 'round trip', ROWS)
    const first = await exported(url('a.db'))
    const inPostgres = await imported(database.url, first.bytes)
    const second = await exported(database.url)
    const back = await imported(url('b.db'), second.bytes)
    const third = await exported(url('b.db'))

    expect(first.report.tables).toHaveLength(archiveTables().length)
    for (const { rows } of first.report.tables) expect(rows).toBe(ROWS)
    for (const { tables } of [inPostgres, second.report, back, third.report]) {
      expect(tables).toEqual(first.report.tables)
    }
    const rows = await rowsOf(url('a.db'))
    expect(await rowsOf(database.url)).toEqual(rows)
    expect(await rowsOf(url('b.db'))).toEqual(rows)
  })

  it('of nothing is a move too', async () => {
    fillAtRandom(file('a.db'), 'nothing', 0)
    const { report, bytes } = await exported(url('a.db'))
    expect((await imported(database.url, bytes)).tables).toEqual(report.tables)
    expect(report.tables.every(({ rows, sha256 }) => rows === 0 && /^0{64}$/.test(sha256))).toBe(
      true,
    )
  })

  it('distinguishes each value from others', async () => {
    fillAtRandom(file('a.db'), 'one', 3)
    fillAtRandom(file('b.db'), 'other', 3)
    const [a, b] = [await exported(url('a.db')), await exported(url('b.db'))]
    for (const [i, { sha256 }] of a.report.tables.entries()) {
      expect(b.report.tables[i]?.sha256).not.toBe(sha256)
    }
  })

  it('reports how many rows of each table are done', async () => {
    fillAtRandom(file('a.db'), 'progress', ROWS)
    const reported: unknown[] = []
    await exported(url('a.db'), {
      onProgress({ table, ...progress }) {
        if (table === 'messages') reported.push(progress)
      },
    })
    expect(reported[0]).toEqual({ step: 'export', rows: 0, rows_total: ROWS })
    expect(reported.length).toBeGreaterThan(2)
    expect(reported.at(-1)).toEqual({ step: 'export', rows: ROWS, rows_total: ROWS })
  })

  it('of an archive of an older schema brings its rows to the current one', async () => {
    fillAtRandom(file('a.db'), 'older', 2)
    fillAtRandom(file('empty.db'), 'older', 0)
    const { older, left_out } = olderOf((await exported(url('a.db'))).bytes)
    expect(left_out).toContain('secrets')
    expect(left_out).not.toContain('messages')
    await imported(url('b.db'), older)
    const [rows, moved] = [await rowsOf(url('a.db')), await rowsOf(url('b.db'))]
    for (const table of left_out) delete rows[table]
    expect(moved).toMatchObject(withLaterColumnsNull(rows))
    expect(moved.secrets).toEqual([])
    // What a later step makes of the rows before it, it has made of these.
    expect(moved.message_counts).toHaveLength(6)
    await expect(imported(url('empty.db'), older)).rejects.toThrow(
      'the database is past the schema of the archive already',
    )
    await imported(database.url, olderOf((await exported(url('empty.db'))).bytes).older)
    expect(await rowsOf(database.url)).toEqual(await rowsOf(url('empty.db')))
  })

  it('is undone where the database did not keep what it was given', async () => {
    fillAtRandom(file('a.db'), 'older', 9)
    // At that step PostgreSQL kept JSON in a form that forgets the order of keys.
    const { older } = olderOf((await exported(url('a.db'))).bytes)
    await expect(imported(database.url, older)).rejects.toThrow(
      'the database did not keep the rows of api_keys as they were',
    )
    const client = await database.connect()
    const { rows } = await client.query("select 1 from pg_tables where schemaname = 'public'")
    expect(rows).toEqual([])
  })
})

/** Of each table that had all columns but nullable ones already: those columns. */
function laterColumns(): Map<string, string[]> {
  const [older, newest] = [new Sqlite(':memory:'), new Sqlite(':memory:')]
  migrate(older, OLDER_STEPS)
  migrate(newest)
  const later = new Map<string, string[]>()
  for (const { table, columns } of archiveTables()) {
    const names = columns.map(({ name }) => name)
    const info = 'select name from pragma_table_info(?)'
    const was = older.prepare(info).pluck().all(table) as string[]
    const nullable = newest.prepare(`${info} where "notnull" = 0`).pluck().all(table)
    const added = names.filter((name) => !was.includes(name))
    const same = names.filter((name) => !added.includes(name))
    const isSame = was.length > 0 && isDeepStrictEqual(was, same)
    if (isSame && added.every((name) => nullable.includes(name))) later.set(table, added)
  }
  older.close()
  newest.close()
  return later
}

/** The archive as the first two steps of the schema would have given it, with the tables that are still the same. */
function olderOf(bytes: Buffer): { older: Buffer; left_out: string[] } {
  const left_out = archiveTables().filter(({ table }) => !LATER_COLUMNS.has(table))
  let lines = linesOf(bytes)
  for (const { table } of left_out) {
    const isOf = (line: string) => line.startsWith(`{"table":"${table}"`)
    lines = lines.toSpliced(
      lines.findIndex(isOf),
      lines.findLastIndex(isOf) - lines.findIndex(isOf) + 1,
    )
  }
  for (const table of LATER_COLUMNS.keys()) lines = withoutLaterColumns(lines, table)
  const { migrations, ...header } = JSON.parse(lines[0] ?? '')
  const end = JSON.parse(lines.at(-1) ?? '')
  const tables = archiveTables().length - left_out.length
  const rows = lines.filter((line) => line.startsWith('[')).length
  const older = archiveOf([
    JSON.stringify({ ...header, migrations: migrations.slice(0, OLDER_STEPS) }),
    ...lines.slice(1, -1),
    JSON.stringify({ ...end, tables, rows }),
  ])
  return { older, left_out: left_out.map(({ table }) => table) }
}

/** The lines with this table as it was before its later columns. */
function withoutLaterColumns(lines: string[], table: string): string[] {
  const isOf = (line: string) => line.startsWith(`{"table":"${table}"`)
  const [from, to] = [lines.findIndex(isOf), lines.findLastIndex(isOf)]
  const beginning = JSON.parse(lines[from] ?? '') as { columns: { name: string }[] }
  const isKept = beginning.columns.map(({ name }) => !LATER_COLUMNS.get(table)?.includes(name))
  const rows = lines
    .slice(from + 1, to)
    .map((line) => JSON.stringify((JSON.parse(line) as unknown[]).filter((_, i) => isKept[i])))
  const checksum = createChecksum()
  for (const row of rows) checksum.add(row)
  const columns = beginning.columns.filter((_, i) => isKept[i])
  const end = { ...JSON.parse(lines[to] ?? ''), sha256: checksum.sha256() }
  const block = [JSON.stringify({ ...beginning, columns }), ...rows, JSON.stringify(end)]
  return lines.toSpliced(from, to - from + 1, ...block)
}

function withLaterColumnsNull(rows: Record<string, string[]>): Record<string, string[]> {
  const changed = archiveTables().flatMap(({ table, columns }): [string, string[]][] => {
    const later = columns.map(({ name }) => LATER_COLUMNS.get(table)?.includes(name))
    const own = rows[table]?.map((row) =>
      JSON.stringify((JSON.parse(row) as unknown[]).map((value, i) => (later[i] ? null : value))),
    )
    return own ? [[table, own.sort()]] : []
  })
  return Object.fromEntries(changed)
}
