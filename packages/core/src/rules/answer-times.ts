import type { AttemptOutcome } from '../rows/webhooks.ts'

/** The steps between a time and its double. With four, a quantile is at most 19 % too high. */
const STEPS = 4

/** The step of more than 12 days; no attempt takes that long. */
const STEP_MAX = 120

/** The step of a time in milliseconds: the smallest one whose `endOfStep` is not below it. */
export function stepOf(duration_ms: number): number {
  const step = Math.ceil(STEPS * Math.log2(Math.max(1, duration_ms)))
  return Math.min(step, STEP_MAX)
}

/** The longest time of a step, in milliseconds. */
export function endOfStep(step: number): number {
  return Math.round(2 ** (step / STEPS))
}

/** The number of attempts with the same outcome and step. */
export interface AttemptCount {
  outcome: AttemptOutcome
  step: number
  count: number
}

/** What receivers did with attempts. */
export interface AttemptSummary {
  attempts: number
  /** The attempts with a 2xx. */
  succeeded: number
  /** The time within which half of all answers came, in milliseconds; null without an answer. */
  p50_ms: number | null
  /** The time within which 99 % of all answers came. */
  p99_ms: number | null
}

/** Sums counts. Attempts without an answer have no time. */
export function summaryOf(counts: readonly AttemptCount[]): AttemptSummary {
  const answers = counts
    .filter(({ outcome }) => outcome !== 'unanswered')
    .sort((a, b) => a.step - b.step)
  return {
    attempts: sumOf(counts),
    succeeded: sumOf(counts.filter(({ outcome }) => outcome === 'succeeded')),
    p50_ms: quantile(answers, 0.5),
    p99_ms: quantile(answers, 0.99),
  }
}

function quantile(answers: readonly AttemptCount[], share: number): number | null {
  const rank = Math.ceil(sumOf(answers) * share)
  let seen = 0
  for (const { step, count } of answers) {
    seen += count
    if (seen >= rank) return endOfStep(step)
  }
  return null
}

function sumOf(counts: readonly AttemptCount[]): number {
  return counts.reduce((sum, { count }) => sum + count, 0)
}
