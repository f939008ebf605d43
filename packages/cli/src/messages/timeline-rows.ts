import type { MessageStatus, MessagesTimelineData } from '@svc/client'
import { counted } from '../show/counted.ts'
import { NEXT_REASONS } from '../show/next-reasons.ts'
import type { Cell } from '../show/output.ts'
import { failureOf, statusCell } from './message-steps.ts'

/** The headings of the columns of `timelineRow`. */
export const TIMELINE_HEADINGS = ['TIME', 'KIND', 'WHAT', 'RESULT', 'DETAIL'] as const

type TimelineEntry = MessagesTimelineData['timeline'][number]

/** An entry of the timeline as a row. */
export function timelineRow(entry: TimelineEntry): [time: Cell, kind: Cell, ...Details] {
  return [entry.at, entry.kind, ...detailsOf(entry)]
}

type Details = [what: Cell, result: Cell, detail: Cell]

function detailsOf(entry: TimelineEntry): Details {
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
      const amount = `${credits > 0 ? '+' : ''}${credits}`
      const what = reference.type === 'bulk' ? `${type} of its bulk` : type
      return [what, amount, `balance ${balance_after}`]
    }
    case 'webhook': {
      const { event, status, attempt_count, response_status, error } = entry
      const { next_attempt_at: next_at, next_attempt_reason: reason } = entry
      const tries = counted(attempt_count, 'try', 'tries')
      const answer = error ?? response_status?.toString()
      const made = answer === undefined ? tries : `${tries}, ${answer}`
      if (next_at === null || reason === null) return [event, status, made]
      const why = NEXT_REASONS[reason]
      return [event, status, `${made}; next ${next_at}${why && `, ${why}`}`]
    }
  }
}
