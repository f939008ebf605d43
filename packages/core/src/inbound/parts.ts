import type { Received } from '../contract/outside/provider.ts'
import type { ReceivedPartRow } from '../rows/rows.ts'

/** One part of a long text: 3GPP TS 23.040, clause 9.2.3.24.1. */
type Part = NonNullable<Received['part']>

/** The waiting time for missing parts; parts are deleted after it. */
export const PARTS_WAIT_MS = 24 * 3_600_000

/** The same part again within this time is a repetition; after this time it starts another text. */
export const PART_REPEATED_MS = 3_600_000

/** The maximum number of stored parts between two phone numbers; the oldest parts are deleted first. */
export const PARTS_KEPT_MAX = 512

const TOTAL_MAX = 255

/** The maximum number of hex digits: far more than a short message has (160 characters are 640 digits). */
const DIGITS_MAX = 4_096

const UNITS = /^(?:[0-9a-f]{4})*$/i

/** Whether number, total and units of a part are within their limits. */
export function isValidPart({ reference, total, number, units }: Part): boolean {
  const isCounted = isWithin(total, 1, TOTAL_MAX) && isWithin(number, 1, total)
  const isReferred = isWithin(reference, 0, 0x7fff_ffff)
  return isCounted && isReferred && units.length <= DIGITS_MAX && UNITS.test(units)
}

function isWithin(value: number, min: number, max: number): boolean {
  return Number.isInteger(value) && value >= min && value <= max
}

/** Whether `part` repeats `known`. */
export function isRepeated(
  known: Pick<ReceivedPartRow, 'units' | 'created_at'>,
  part: Pick<ReceivedPartRow, 'units' | 'created_at'>,
): boolean {
  const age_ms = part.created_at.getTime() - known.created_at.getTime()
  return known.units === part.units && age_ms < PART_REPEATED_MS
}

/**
 * The text of all parts; null while one is missing. The units are joined before they are decoded, because a part may end
 * between the two halves of a character. Invalid units become U+FFFD.
 */
export function joined(
  parts: readonly Pick<ReceivedPartRow, 'number' | 'units'>[],
  total: number,
): string | null {
  const units = new Map(parts.map((part) => [part.number, part.units]))
  const all = Array.from({ length: total }, (_, i) => units.get(i + 1))
  if (all.includes(undefined)) return null
  return Buffer.from(all.join(''), 'hex').swap16().toString('utf16le').toWellFormed()
}
