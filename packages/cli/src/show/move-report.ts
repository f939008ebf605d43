import type { MoveReport, OnProgress } from '@svc/core/operate'
import type { ProcessIo } from '../process/process-io.ts'
import { counted } from './counted.ts'
import { type ProgressBars, progressBars } from './progress-bar.ts'

const SUFFIXES = { export: '', import: '', verify: ' (verify)' }

/** Progress bars of an export or import, and the callback that updates them. */
export function moveProgress(
  io: ProcessIo,
  options: { isQuiet: boolean },
): ProgressBars & { onProgress: OnProgress } {
  const bars = progressBars(io, options)
  return {
    ...bars,
    onProgress({ step, table, rows, rows_total }) {
      bars.report({ name: `${table}${SUFFIXES[step]}`, done: rows, total: rows_total })
    },
  }
}

/** The number of rows and tables, as part of a sentence. */
export function amountOf({ tables }: MoveReport): string {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0)
  return `${counted(rows, 'row')} in ${counted(tables.length, 'table')}`
}

/** The counts and checksums in JSON. */
export function documentOf(
  { tables, ...more }: MoveReport,
  file: string | null,
): Record<string, unknown> {
  return { ...(file !== null && { file }), ...more, tables }
}
