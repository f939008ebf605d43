import { durationMs } from './duration.ts'

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
