import type { Units } from '../contract/fields/units.ts'

/** The complete days whose mean is the pace: two weeks, so that weekends count as often as they come. */
export const FORECAST_DAYS = 14

/** With fewer complete days, the pace would be a guess. */
const DAYS_MIN = 3

/** A forecast further away says nothing. */
const FORECAST_MAX_DAYS = 365

/**
 * Until when the credits last at the present pace. `too_little_history`: fewer than three complete days; `no_spending`: nothing
 * was spent on balance; `empty`: nothing is left; `over_a_year`: longer than 365 days.
 */
export type Forecast =
  | { state: 'until'; per_day: Units; days: number; until: Date }
  | { state: 'over_a_year' | 'empty'; per_day: Units; days: number }
  | { state: 'too_little_history' | 'no_spending'; days: number }

/**
 * The forecast for an account that may spend `available` credits, its limit below 0 included.
 *
 * @param spent what each complete day (UTC) cost without what was refunded, oldest first, from the first day of the account on;
 *   only the last 14 count, days without messages too
 */
export function forecastOf({
  available,
  spent,
  now,
}: {
  available: Units
  spent: readonly Units[]
  now: Date
}): Forecast {
  const counted = spent.slice(-FORECAST_DAYS)
  const days = counted.length
  if (days < DAYS_MIN) return { state: 'too_little_history', days }
  const per_day = Math.round(counted.reduce((sum, one) => sum + one, 0) / days) as Units
  if (per_day <= 0) return { state: 'no_spending', days }
  if (available <= 0) return { state: 'empty', per_day, days }
  const left_days = available / per_day
  if (left_days > FORECAST_MAX_DAYS) return { state: 'over_a_year', per_day, days }
  return { state: 'until', per_day, days, until: new Date(now.getTime() + left_days * 86_400_000) }
}
