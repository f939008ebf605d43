import type { BulksSendData } from '@svc/client'
import { csvText } from '../../parts/csv.ts'
import { download } from '../../parts/download.ts'
import { session, store, stored } from '../../shell/session.ts'

type Rejected = (BulksSendData['errors'][number] & { line: number })[]

const STORED = 'svc.rejected'

/** How many bulks a reload of the page keeps. */
const STORED_MAX = 5

/**
 * The rejected recipients of the bulks that this tab sent, newest last. The service names them only in its answer. They have
 * addresses but no content, and end with the session of the person.
 */
const known = new Map<string, Rejected>(JSON.parse(stored(STORED) ?? '[]'))

session.subscribe((value) => {
  if (value !== null) return
  known.clear()
  store(STORED, null)
})

/** Keeps the rejected recipients of a bulk. `lines`: the line of each recipient in the text. */
export function keepRejected(
  { bulk_id, errors }: Pick<BulksSendData, 'bulk_id' | 'errors'>,
  lines: readonly number[] = [],
): void {
  if (errors.length === 0) return
  known.set(
    bulk_id,
    errors.map((error) => ({ ...error, line: lines[error.index] ?? error.index + 1 })),
  )
  store(STORED, JSON.stringify([...known].slice(-STORED_MAX)))
}

export function rejectedOf(bulkId: string): Rejected | undefined {
  return known.get(bulkId)
}

/** Saves rejected recipients as a CSV file. */
export function downloadRejected(name: string, errors: Rejected): void {
  const rows = errors.map(({ line, to, error, message }) => [line, to, error, message])
  download(`rejected-${name}.csv`, csvText([['line', 'to', 'error', 'message'], ...rows]))
}
