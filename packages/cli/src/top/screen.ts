import type { Channel } from '@svc/core/contract'
import { countText, durationText, type History, type Reading } from '@svc/core/operate'
import type { Style } from '../show/style.ts'
import { column, cut, printable, type TerminalSize, textWidth, wrapped } from '../show/text.ts'
import { type FailedMessage, failureHeading, failureLine } from './failure-lines.ts'
import { queueLines, rateLines, type Section, stateLines, stockLines } from './sections.ts'

/** The data that `svc top` shows. */
export interface TopData {
  /** The latest reading; null before the first one. */
  reading: Reading | null
  history: History
  /** The outage of the database with its error; null if there is none. */
  outage: { since: Date; now: Date; text: string } | null
}

/** The choices of the user. */
export interface ViewState {
  channel: Channel | null
  filter: string
  isPaused: boolean
  selected_id: string | null
  /** The failures that match the filter, newest first. */
  failures: readonly FailedMessage[]
}

/** A terminal with fewer rows shows no blank lines between sections, so that there is room for failures. */
const AIRY_ROWS = 34

/** The screen without its last line. It has `rows - 2` lines, so that one line of the terminal stays free. */
export function screenLines(
  data: TopData,
  state: ViewState,
  { columns, rows }: TerminalSize,
  style: Style,
): string[] {
  const height = Math.max(1, rows - 2)
  const { reading, history, outage } = data
  const head = [titleLine(data, state, columns, style), ...outageLines(outage, columns, style)]
  if (!reading) {
    return exactly(outage ? head : [...head, 'Waiting for the database…'], height)
  }
  const { channel } = state
  const section: Section = { reading, history, channel, columns, style }
  const isAiry = rows >= AIRY_ROWS
  const details = isAiry ? 5 : 1
  const blocks = [
    [...head, ...stateLines(section, isAiry ? 6 : 3)],
    rateLines(section),
    queueLines(section),
    stockLines(section, details),
  ]
  const above = blocks.flatMap((block, i) => (isAiry || i === 0 ? [...block, ''] : block))
  if (!isAiry) above.push('')
  return exactly([...above, ...failureLines(section, state, height - above.length)], height)
}

function titleLine({ reading }: TopData, state: ViewState, columns: number, style: Style): string {
  const { channel, filter, isPaused } = state
  const at = reading ? `${reading.overview.at.toISOString().slice(11, 19)} UTC` : ''
  const parts = [
    isPaused ? 'paused' : null,
    channel === null ? null : `only ${channel}`,
    filter === '' ? null : `filter "${printable(filter)}"`,
    at,
  ]
  const right = cut(parts.filter(Boolean).join(' · '), Math.max(0, columns - 10))
  return `${style('bold', column('svc top', columns - textWidth(right)))}${right}`
}

function outageLines(outage: TopData['outage'], columns: number, style: Style): string[] {
  if (!outage) return []
  const { since, now, text } = outage
  const duration = durationText(now.getTime() - since.getTime())
  const line = `✗ The database does not answer for ${duration}; retrying. ${printable(text)}`
  return wrapped(line, columns)
    .slice(0, 2)
    .map((each) => style('red', each))
}

function failureLines(
  { reading, columns, style }: Section,
  { failures, filter, selected_id }: ViewState,
  height: number,
): string[] {
  const all = reading.troubles.failures.length
  const count =
    filter === ''
      ? `the newest ${countText(all)}`
      : `${countText(failures.length)} of the newest ${countText(all)}`
  if (all === 0) return [style('dim', 'FAILURES'), 'No message has failed.'].slice(0, height)
  const head = [
    style('dim', cut(`FAILURES  ${count}`, columns)),
    style('dim', failureHeading(columns)),
  ]
  const room = Math.max(1, height - head.length)
  const selected = Math.max(
    0,
    failures.findIndex(({ id }) => id === selected_id),
  )
  const from = Math.max(0, Math.min(selected - Math.floor(room / 2), failures.length - room))
  const now = reading.overview.at
  const lines = failures
    .slice(from, from + room)
    .map((failure, i) =>
      failureLine(failure, { isSelected: from + i === selected, columns, now, style }),
    )
  return [...head, ...lines]
}

/** Returns exactly `height` lines: it removes lines or adds empty lines, so that the lines below do not move. */
export function exactly(lines: readonly string[], height: number): string[] {
  return Array.from({ length: height }, (_, i) => lines[i] ?? '')
}
