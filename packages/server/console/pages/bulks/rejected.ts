import type { BulksSendData } from '@svc/client'
import { csvText } from '../../parts/csv.ts'
import { download } from '../../parts/download.ts'

type Rejected = (BulksSendData['errors'][number] & { line: number })[]

/** The rejected recipients of the bulks that this tab sent. The service names them only in its answer. */
const known = new Map<string, Rejected>()

/** Keeps the rejected recipients of a bulk, as long as the page is loaded. `lines`: the line of each recipient in the text. */
export function keepRejected(
  { bulk_id, errors }: Pick<BulksSendData, 'bulk_id' | 'errors'>,
  lines: readonly number[] = [],
): void {
  if (errors.length === 0) return
  known.set(
    bulk_id,
    errors.map((error) => ({ ...error, line: lines[error.index] ?? error.index + 1 })),
  )
}

export function rejectedOf(bulkId: string): Rejected | undefined {
  return known.get(bulkId)
}

/** Saves rejected recipients as a CSV file. */
export function downloadRejected(name: string, errors: Rejected): void {
  const rows = errors.map(({ line, to, error, message }) => [line, to, error, message])
  download(`rejected-${name}.csv`, csvText([['line', 'to', 'error', 'message'], ...rows]))
}
