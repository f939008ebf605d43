import { usage } from '../process/failure.ts'

const MS: Record<string, number> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

/**
 * Reads a span of time as people write it; null for any other text.
 *
 * @example durationMs('30d') // 2592000000
 */
export function durationMs(text: string): number | null {
  const [, amount, unit = ''] = /^(\d{1,6})([smhdw])$/.exec(text) ?? []
  const unit_ms = MS[unit]
  return amount === undefined || unit_ms === undefined ? null : Number(amount) * unit_ms
}

/**
 * The moment that a text means, as ISO 8601: a span counts from now, on or back. What is no span is left as it is, for
 * the contract to refuse.
 *
 * @example momentText('10m', { now: new Date('2026-05-04T09:00:00Z') }) // '2026-05-04T09:10:00.000Z'
 */
export function momentText(
  text: string,
  { now, back = false }: { now: Date; back?: boolean },
): string {
  const span_ms = durationMs(text)
  if (span_ms === null) return text
  return new Date(now.getTime() + (back ? -span_ms : span_ms)).toISOString()
}

/**
 * The moment that an option says: ISO 8601, or a span back from now.
 * @throws Failure for anything else.
 */
export async function readPast(option: string, text: string): Promise<Date> {
  const { parseDateTime } = await import('@svc/core/contract')
  const moment = parseDateTime(momentText(text, { now: new Date(), back: true }))
  if (moment) return moment
  throw usage(`${option} must be ISO 8601, or a span such as 30d, got "${text}"`)
}
