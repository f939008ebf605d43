import type { BulksSendData } from '@svc/client'
import { csvText } from '../../parts/csv.ts'
import { download } from '../../parts/download.ts'

type Rejected = BulksSendData['errors']

/** The rejected recipients of the bulks that this tab sent. The service names them only in its answer. */
const known = new Map<string, Rejected>()

/** Keeps the rejected recipients of a bulk, as long as the page is loaded. */
export function keepRejected({ bulk_id, errors }: Pick<BulksSendData, 'bulk_id' | 'errors'>): void {
  if (errors.length > 0) known.set(bulk_id, errors)
}

export function rejectedOf(bulkId: string): Rejected | undefined {
  return known.get(bulkId)
}

/** Saves rejected recipients as a CSV file. */
export function downloadRejected(name: string, errors: Rejected): void {
  const rows = errors.map(({ index, to, error, message }) => [index + 1, to, error, message])
  download(`rejected-${name}.csv`, csvText([['row', 'to', 'error', 'message'], ...rows]))
}
