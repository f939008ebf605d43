import { getTableColumns, getTableName, type Table } from 'drizzle-orm'
import { dialects } from '../../rows/dialect.ts'
import { tables } from '../../rows/tables.ts'

/** The types of values, independent of the engines' type names. */
export const COLUMN_KINDS = ['text', 'int', 'boolean', 'time', 'json'] as const
export type ColumnKind = (typeof COLUMN_KINDS)[number]

export interface ArchiveColumn {
  name: string
  kind: ColumnKind
}

/** A table in an archive. */
export interface ArchiveTable {
  table: string
  columns: ArchiveColumn[]
}

const KINDS: Record<string, ColumnKind> = {
  string: 'text',
  number: 'int',
  boolean: 'boolean',
  date: 'time',
  json: 'json',
}

/** Every table of the schema, derived from its definition: a new table is in the archive automatically. */
export function archiveTables(): ArchiveTable[] {
  return Object.values<Table>(tables(dialects.postgres)).map((table) => ({
    table: getTableName(table),
    columns: Object.values(getTableColumns(table)).map(({ name, dataType }) => {
      const kind = KINDS[dataType]
      if (!kind) throw new Error(`${getTableName(table)}.${name} is of no kind that an archive has`)
      return { name, kind }
    }),
  }))
}
