import type { MessageStatus, MessagesTimelineData } from '@svc/client'
import { type Cell, cellText } from '../show/output.ts'
import { column, counted, cut, printable, type Style, textWidth } from '../show/text.ts'
import type { Change } from './follow-messages.ts'
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

/** Why a delivery is not attempted before its next time, for people. */
export const NEXT_REASONS = {
  due: '',
  retry: 'a retry',
  receiver_unavailable: 'the receiver is unavailable',
} as const

/** Lines of this width or more show the id and the full time. */
const WIDE_COLUMNS = 130

/** A change of a message as the cells of a plain row. */
export function changeRow(
  { message, status, at }: Change,
  { padded }: { padded: boolean },
): Cell[] {
  const { channel, recipient, id } = message
  const reason = status === 'failed' ? failureOf(message) : null
  const cells = [at.toISOString(), channel, recipient, statusCell(status, { padded }), id]
  return reason === null ? cells : [...cells, reason]
}

/** A change of a message in one line of at most `columns` columns, aligned with the other lines. */
export function changeLine({ message, status, at }: Change, columns: number, style: Style): string {
  const { channel, recipient, id } = message
  const isWide = columns >= WIDE_COLUMNS
  const before = [
    isWide ? at.toISOString() : at.toISOString().slice(11, 19),
    column(channel, 8),
    column(printable(recipient), isWide ? 28 : 21),
  ]
  const reason = status === 'failed' ? printable(failureOf(message) ?? '') : ''
  const rest = isWide ? `${id}  ${reason}` : reason
  const plain = [...before, status.padEnd('delivered'.length)].join('  ')
  const room = columns - textWidth(plain) - 2
  if (room < 0) return cut(plain, columns)
  const shown = cellText(statusCell(status, { padded: true }), style)
  return [...before, shown, cut(rest, room)].join('  ').trimEnd()
}

/** The text that a filter searches. */
export function changeWords({ message, status }: Change): string {
  const { channel, recipient, id, error_code, error_message } = message
  return [channel, recipient, status, id, error_code, error_message].join(' ')
}
