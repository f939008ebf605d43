import { units } from '../contract/fields/units.ts'
import { LIMITS } from '../contract/limits.ts'
import type { VerificationStats } from '../contract/resources/verifications.ts'
import type { VerificationCountRow } from '../rows/rows.ts'
import { HOUR_MS } from '../rules/count-changes.ts'
import { timeOfId } from '../runtime/runtime.ts'
import type { Reads } from '../storage/ports/stores.ts'

/** The counts of a country in a period. */
type CountryCounts = Omit<VerificationCountRow, 'workspace_id' | 'hour'>

function wholeHour(at: Date): Date {
  return new Date(Math.floor(at.getTime() / HOUR_MS) * HOUR_MS)
}

/** The begin of the last days. The counts are by hour, so it is a whole hour. */
export function statsSince(now: Date, days: number): Date {
  return wholeHour(new Date(now.getTime() - 24 * days * HOUR_MS))
}

/** Adds the conversions and the total to counts of countries. */
export function statsOf(
  since: Date,
  counts: readonly CountryCounts[],
): Pick<VerificationStats, 'since' | 'total' | 'countries'> {
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
  }
}

type Progress = Awaited<ReturnType<Reads['verifications']['progress']>>
type Steps = VerificationStats['funnel']['total']

const NO_STEPS: Readonly<Steps> = { requested: 0, sent: 0, delivered: 0, approved: 0 }

function addSteps(sum: Steps, added: Steps): void {
  sum.requested += added.requested
  sum.sent += added.sent
  sum.delivered += added.delivered
  sum.approved += added.approved
}

/** The sums of a funnel by country and by hour. */
export function funnelOf(since: Date, progress: Progress): VerificationStats['funnel'] {
  const total = { ...NO_STEPS }
  const countries = new Map<string | null, Steps>()
  const hours = new Map<number, Steps>()
  for (const { country, hour, ...steps } of progress) {
    const ofCountry = countries.get(country) ?? { ...NO_STEPS }
    const ofHour = hours.get(hour) ?? { ...NO_STEPS }
    countries.set(country, ofCountry)
    hours.set(hour, ofHour)
    for (const sum of [total, ofCountry, ofHour]) addSteps(sum, steps)
  }
  const isWhole = total.requested < LIMITS.verifications_counted
  const [first_id] = progress.map((one) => one.first_id).sort()
  return {
    since: isWhole || first_id === undefined ? since : timeOfId(first_id),
    total,
    countries: [...countries]
      .map(([country, steps]) => ({ country, ...steps }))
      .sort(
        (a, b) => b.requested - a.requested || ((a.country ?? '') < (b.country ?? '') ? -1 : 1),
      ),
    hours: [...hours]
      .sort(([a], [b]) => a - b)
      .map(([hour, steps]) => ({ since: new Date(hour * HOUR_MS), ...steps })),
  }
}

/** A code that was sent before the period can be approved in it, so there may be more approvals than messages. */
function conversionOf({ sent, approved }: Pick<CountryCounts, 'sent' | 'approved'>): number | null {
  return sent === 0 ? null : Math.min(1, approved / sent)
}
