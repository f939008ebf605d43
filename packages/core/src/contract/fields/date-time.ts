/** The message for a text that is not an ISO 8601 date. Source: interface, Errors. */
export const DATE_TEXT = 'Invalid date format. Use ISO 8601 format.'

const ISO_8601 =
  /^(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(Z|[+-]\d{2}(?::?\d{2})?)?)?$/

/**
 * Reads an ISO 8601 date or date-time; null for any other text and for a date or time that does not exist (2026-02-30, 24:00,
 * a leap second). A date alone means its first instant. A text without an offset is UTC. Digits below 1 ms are dropped.
 */
export function parseDateTime(text: string): Date | null {
  const match = ISO_8601.exec(text)
  if (!match) return null
  const [, day, minutes = '00:00', seconds = '00', fraction = '', offset = 'Z'] = match
  const local = `${day}T${minutes}:${seconds}.${fraction.slice(0, 3).padEnd(3, '0')}Z`
  const localMs = Date.parse(local)
  const offsetMs = offsetMsOf(offset)
  // `Date.parse` reads 02-30 as a day of March; the printed date then differs.
  if (Number.isNaN(localMs) || offsetMs === null) return null
  if (new Date(localMs).toISOString() !== local) return null
  const date = new Date(localMs - offsetMs)
  // An offset can move an instant out of the years 0001 to 9999.
  return /^(?!0000)\d{4}-/.test(date.toISOString()) ? date : null
}

function offsetMsOf(offset: string): number | null {
  if (offset === 'Z') return 0
  const hours = Number(offset.slice(1, 3))
  const minutes = Number(offset.slice(3).replace(':', '') || '0')
  if (hours > 23 || minutes > 59) return null
  return (offset.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * 60_000
}
