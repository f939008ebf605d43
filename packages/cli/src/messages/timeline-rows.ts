import type { MessageStatus, TimelineEntry, Units } from '@svc/core/contract'
import type { Cell } from '../show/output.ts'
import { failureOf, statusCell } from './message-steps.ts'

/** The names of the columns that `timelineRow` fills. */
export const TIMELINE_HEADINGS = ['TIME', 'KIND', 'WHAT', 'RESULT', 'DETAIL'] as const

/** What happened to a message, as a row for people. */
export function timelineRow(
  entry: TimelineEntry,
  formatCredits: (amount: Units) => string,
): [time: Cell, kind: Cell, ...Told] {
  return [entry.at.toISOString(), entry.kind, ...toldOf(entry, formatCredits)]
}

type Told = [what: Cell, result: Cell, detail: Cell]

function toldOf(entry: TimelineEntry, formatCredits: (amount: Units) => string): Told {
  switch (entry.kind) {
    case 'status': {
      const late = { text: 'came too late to count', style: 'dim' } as const
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
