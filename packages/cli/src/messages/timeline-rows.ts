import type { MessageStatus, TimelineEntry, Units } from '@svc/core/contract'
import type { Cell } from '../show/output.ts'
import { failureOf, statusCell } from './message-steps.ts'

/** The headings of the columns of `timelineRow`. */
export const TIMELINE_HEADINGS = ['TIME', 'KIND', 'WHAT', 'RESULT', 'DETAIL'] as const

/** An entry of the timeline as a row. */
export function timelineRow(
  entry: TimelineEntry,
  formatCredits: (amount: Units) => string,
): [time: Cell, kind: Cell, ...Details] {
  return [entry.at.toISOString(), entry.kind, ...detailsOf(entry, formatCredits)]
}

type Details = [what: Cell, result: Cell, detail: Cell]

function detailsOf(entry: TimelineEntry, formatCredits: (amount: Units) => string): Details {
  switch (entry.kind) {
    case 'status': {
      const late = { text: 'too late, ignored', style: 'dim' } as const
      const status = statusCell(entry.status as MessageStatus)
      return [status, entry.applied ? '' : late, failureOf(entry) ?? '']
    }
    case 'provider': {
      const { provider, attempt, outcome } = entry
      return [`${provider} attempt ${attempt}`, outcome, failureOf(entry) ?? '']
    }
    case 'ledger': {
      const { type, credits, balance_after, reference } = entry
      const amount = `${credits > 0 ? '+' : ''}${formatCredits(credits)}`
      const what = reference.type === 'bulk' ? `${type} of its bulk` : type
      return [what, amount, `balance ${formatCredits(balance_after)}`]
    }
    case 'webhook': {
      const { event, status, attempt_count, response_status, error } = entry
      const tries = `${attempt_count} ${attempt_count === 1 ? 'try' : 'tries'}`
      const answer = error ?? response_status?.toString()
      return [event, status, answer === undefined ? tries : `${tries}, ${answer}`]
    }
  }
}
