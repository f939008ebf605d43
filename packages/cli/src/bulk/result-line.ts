import type { ResultLine } from './results-file.ts'

type Kind = 'string' | 'whole' | 'number' | 'text'

/** The required fields of a line. A field of the kind `text` may be null. */
const FIELDS: Record<ResultLine['type'], Record<string, Kind>> = {
  run: {
    format: 'whole',
    run_id: 'string',
    sha256: 'string',
    rows: 'whole',
    request_sha256: 'string',
    server: 'string',
    mode: 'string',
    key_sha256: 'string',
    scheduled_at: 'text',
  },
  begun: {
    batch: 'whole',
    idempotency_key: 'string',
    first_line: 'whole',
    last_line: 'whole',
    at: 'string',
  },
  batch: {
    batch: 'whole',
    bulk_id: 'text',
    last_line: 'whole',
    rows: 'whole',
    accepted: 'whole',
    rejected: 'whole',
    duplicates: 'whole',
    credits_used: 'number',
  },
  refused: { batch: 'whole' },
  row: { line: 'whole', to: 'text' },
}

/** Reads a line of a result file. Returns null for another format or a missing field. */
export function lineOf(text: string): ResultLine | null {
  const value = objectOf(text)
  const fields = FIELDS[value?.type as ResultLine['type']]
  if (!value || !fields) return null
  const isWhole = Object.entries(fields).every(([name, kind]) => fits(value[name], kind))
  return isWhole ? (value as unknown as ResultLine) : null
}

function objectOf(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' ? (value as Record<string, unknown> | null) : null
  } catch {
    return null
  }
}

function fits(value: unknown, kind: Kind): boolean {
  if (kind === 'whole') return Number.isSafeInteger(value) && (value as number) >= 0
  if (kind === 'number') return Number.isFinite(value) && (value as number) >= 0
  return typeof value === 'string' || (kind === 'text' && value === null)
}
