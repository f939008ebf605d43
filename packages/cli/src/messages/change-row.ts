import { type Cell, cellText } from '../show/output.ts'
import type { Style } from '../show/style.ts'
import { column, cut, printable, textWidth } from '../show/text.ts'
import type { Change } from './follow-messages.ts'
import { failureOf, statusCell } from './message-steps.ts'

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
