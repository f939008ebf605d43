import { usage } from '../process/failure.ts'

const MS: Record<string, number> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

/**
 * Reads a duration such as `30d`. Returns null for any other text.
 *
 * @example durationMs('30d') // 2592000000
 */
export function durationMs(text: string): number | null {
  const [, amount, unit = ''] = /^(\d{1,6})([smhdw])$/.exec(text) ?? []
  const unit_ms = MS[unit]
  return amount === undefined || unit_ms === undefined ? null : Number(amount) * unit_ms
}

/**
 * Turns a duration into an ISO 8601 time after `now`, or with `back` before `now`. Returns any other text unchanged;
 * the contract refuses it if it is not a time.
 *
 * @example momentText('10m', { now: new Date('2026-05-04T09:00:00Z') }) // '2026-05-04T09:10:00.000Z'
 */
export function momentText(
  text: string,
  { now, back = false }: { now: Date; back?: boolean },
): string {
  const duration_ms = durationMs(text)
  if (duration_ms === null) return text
  return new Date(now.getTime() + (back ? -duration_ms : duration_ms)).toISOString()
}

/** The same as `readPast` for an option that may be absent. */
export async function readOptionalPast(
  option: string,
  text: string | undefined,
): Promise<Date | undefined> {
  return text === undefined ? undefined : readPast(option, text)
}

/**
 * Reads the time of an option: ISO 8601, or a duration before now.
 * @throws Failure for any other text.
 */
export async function readPast(option: string, text: string): Promise<Date> {
  const { parseDateTime } = await import('@svc/core/contract')
  const moment = parseDateTime(momentText(text, { now: new Date(), back: true }))
  if (moment) return moment
  throw usage(
    `${option} must be ISO 8601, or a duration before now such as 2h or 30d, got "${text}"`,
  )
}
