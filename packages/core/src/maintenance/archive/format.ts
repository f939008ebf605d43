import * as z from 'zod'
import { COLUMN_KINDS } from './tables.ts'

/**
 * An archive is JSON lines in gzip: a header; for each table a line with its columns and number of rows, an array of
 * values for each row, and a line with their checksum; at the end a line with the checksum of all earlier lines.
 */
export const FORMAT = 'svc-archive'
export const FORMAT_VERSION = 1

const count = z.int().min(0)
const sha256 = z.string().regex(/^[0-9a-f]{64}$/)
/** Names of tables and columns become part of statements. */
const name = z.string().regex(/^[a-z][a-z0-9_]{0,62}$/)

export const headerLine = z.strictObject({
  format: z.literal(FORMAT),
  version: z.literal(FORMAT_VERSION),
  /** The program that made the archive, and its version. */
  made_by: z.string(),
  created_at: z.iso.datetime(),
  /** The steps of the schema, oldest first. The last step determines which program can read the archive. */
  migrations: z.array(z.string()).min(1),
})
export type Header = z.infer<typeof headerLine>

export const tableLine = z.strictObject({
  table: name,
  columns: z.array(z.strictObject({ name, kind: z.enum(COLUMN_KINDS) })).min(1),
  rows: count,
})

export const checksumLine = z.strictObject({ table: name, rows: count, sha256 })
/** The checksum of a moved table. Equal checksums mean equal rows, on any engine. */
export type TableSum = z.infer<typeof checksumLine>

export const endLine = z.strictObject({ end: z.literal(true), tables: count, rows: count, sha256 })

/** The result of a move, which is an export or an import. */
export interface MoveReport {
  made_by: string
  created_at: string
  tables: TableSum[]
}

/** Called while a table is moved, with the number of finished rows. */
export type OnProgress = (progress: {
  step: 'export' | 'import' | 'verify'
  table: string
  rows: number
  rows_total: number
}) => void
