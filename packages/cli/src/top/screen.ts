import type { Channel } from '@svc/core/contract'
import type { Style } from '../show/style.ts'
import { column, cut, printable, type TerminalSize, textWidth, wrapped } from '../show/text.ts'
import { countText, spanText } from './amounts.ts'
import { type FailedMessage, failureHeading, failureLine } from './failure-lines.ts'
import type { History } from './history.ts'
import type { Reading } from './reading.ts'
import { queueLines, rateLines, type Section, stateLines, stockLines } from './sections.ts'

/** What `svc top` shows just now. */
export interface Shown {
  /** Null before the first answer. */
  reading: Reading | null
  history: History
  /** Since when the database does not answer, and what it said. */
  outage: { since: Date; now: Date; text: string } | null
}

/** How somebody looks at it. */
export interface Looking {
  channel: Channel | null
  filter: string
  isPaused: boolean
  selected_id: string | null
  /** Those that pass the filter, newest first. */
  failures: readonly FailedMessage[]
}

/** Below this height nothing stands apart, so that there is room for failures. */
const AIRY_ROWS = 34

/** The whole screen but for its last line: exactly so many lines that with it one line stays free. */
export function screenLines(
  shown: Shown,
  looking: Looking,
  { columns, rows }: TerminalSize,
  style: Style,
): string[] {
  const height = Math.max(1, rows - 2)
  const { reading, history, outage } = shown
  const head = [titleLine(shown, looking, columns, style), ...outageLines(outage, columns, style)]
  if (!reading) {
    return exactly(outage ? head : [...head, 'Waiting for the database…'], height)
  }
  const { channel } = looking
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
  return exactly([...above, ...failureLines(section, looking, height - above.length)], height)
}

function titleLine({ reading }: Shown, looking: Looking, columns: number, style: Style): string {
  const { channel, filter, isPaused } = looking
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

function outageLines(outage: Shown['outage'], columns: number, style: Style): string[] {
  if (!outage) return []
  const { since, now, text } = outage
  const span = spanText(now.getTime() - since.getTime())
  const line = `✗ The database does not answer for ${span}; asking again. ${printable(text)}`
  return wrapped(line, columns)
    .slice(0, 2)
    .map((each) => style('red', each))
}

function failureLines(
  { reading, columns, style }: Section,
  { failures, filter, selected_id }: Looking,
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

/** Cut or filled up, so that what is below stands still. */
export function exactly(lines: readonly string[], height: number): string[] {
  return Array.from({ length: height }, (_, i) => lines[i] ?? '')
}
