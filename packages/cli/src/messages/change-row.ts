import { type Cell, cellText } from '../show/output.ts'
import type { Style } from '../show/style.ts'
import { column, cut, printable, textWidth } from '../show/text.ts'
import type { Change } from './follow-messages.ts'
import { failureOf, statusCell } from './message-steps.ts'

/** From this width a line of a view has the id, and the whole time. */
const WIDE_COLUMNS = 130

/** Something that happened to a message, as the values of a plain row. */
export function changeRow(
  { message, status, at }: Change,
  { padded }: { padded: boolean },
): Cell[] {
  const { channel, recipient, id } = message
  const why = status === 'failed' ? failureOf(message) : null
  const cells = [at.toISOString(), channel, recipient, statusCell(status, { padded }), id]
  return why === null ? cells : [...cells, why]
}

/** The same in one line of at most so many columns, under which the next one lines up. */
export function changeLine({ message, status, at }: Change, columns: number, style: Style): string {
  const { channel, recipient, id } = message
  const isWide = columns >= WIDE_COLUMNS
  const before = [
    isWide ? at.toISOString() : at.toISOString().slice(11, 19),
    column(channel, 8),
    column(printable(recipient), isWide ? 28 : 21),
  ]
  const why = status === 'failed' ? printable(failureOf(message) ?? '') : ''
  const rest = isWide ? `${id}  ${why}` : why
  const plain = [...before, status.padEnd('delivered'.length)].join('  ')
  const room = columns - textWidth(plain) - 2
  if (room < 0) return cut(plain, columns)
  const told = cellText(statusCell(status, { padded: true }), style)
  return [...before, told, cut(rest, room)].join('  ').trimEnd()
}

/** What a filter looks at. */
export function changeWords({ message, status }: Change): string {
  const { channel, recipient, id, error_code, error_message, provider } = message
  return [channel, recipient, status, id, error_code, error_message, provider].join(' ')
}
