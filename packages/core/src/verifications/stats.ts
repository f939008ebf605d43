import { units } from '../contract/fields/units.ts'
import type { VerificationStats } from '../contract/resources/verifications.ts'
import type { VerificationCountRow, VerificationPauseRow } from '../rows/rows.ts'
import { HOUR_MS } from '../rules/count-changes.ts'
import { isRecent } from '../rules/verify.ts'

/** The counts of a country in a period. */
export type CountryCounts = Omit<VerificationCountRow, 'workspace_id' | 'hour'>

/** The begin of the last days. The counts are by hour, so it is a whole hour. */
export function statsSince(now: Date, days: number): Date {
  return new Date(Math.floor(now.getTime() / HOUR_MS - 24 * days) * HOUR_MS)
}

/** Adds the conversions and the total to counts of countries. */
export function statsOf(
  { since, now }: { since: Date; now: Date },
  counts: readonly CountryCounts[],
  pauses: readonly VerificationPauseRow[],
): VerificationStats {
  const total = { sent: 0, approved: 0, credits_used: units(0) }
  for (const { sent, approved, credits_used } of counts) {
    total.sent += sent
    total.approved += approved
    total.credits_used = units(total.credits_used + credits_used)
  }
  return {
    since,
    total: { ...total, conversion: conversionOf(total) },
    countries: counts.map((one) => ({ ...one, conversion: conversionOf(one) })),
    paused: pauses
      .filter((one) => one.allowed_until === null && isRecent(one, now))
      .map(({ country, paused_at, sent, approved }) => ({ country, paused_at, sent, approved })),
  }
}

/** A code that was sent before the period can be approved in it, so there may be more approvals than messages. */
function conversionOf({ sent, approved }: Pick<CountryCounts, 'sent' | 'approved'>): number | null {
  return sent === 0 ? null : Math.min(1, approved / sent)
}
