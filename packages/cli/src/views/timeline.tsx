/** @jsxRuntime automatic */
import { type ReactElement, useEffect, useState } from 'react'
import { TIMELINE_HEADINGS } from '../messages/timeline-rows.ts'
import { explain } from '../process/failure.ts'
import type { Cell } from '../show/output.ts'
import type { Style } from '../show/style.ts'
import { cut, printable, type TerminalSize } from '../show/text.ts'
import type { FailedMessage } from '../top/failure-lines.ts'
import { exactly } from '../top/screen.ts'
import { useKeys } from './keys.ts'
import { tableLines } from './table-lines.ts'
import { Lines } from './terminal.tsx'

export type TimelineRow = readonly Cell[]

/** A terminal with fewer columns shows times without the date. The head of the view shows the date. */
const WHOLE_TIME_COLUMNS = 120

/** The timeline of one message on the whole screen. */
export function Timeline({
  message,
  load,
  close,
  size,
  style,
}: {
  message: FailedMessage
  load: (message: FailedMessage) => Promise<TimelineRow[]>
  close: () => void
  size: TerminalSize
  style: Style
}): ReactElement {
  const { columns, rows } = size
  const [found, setFound] = useState<TimelineRow[] | string>('Reading…')
  const [from, setFrom] = useState(0)
  useEffect(() => {
    let isOpen = true
    load(message).then(
      (entries) => isOpen && setFound(entries),
      (error: unknown) => isOpen && setFound(explain(error).message),
    )
    return () => {
      isOpen = false
    }
  }, [message, load])

  const lines =
    typeof found === 'string'
      ? [cut(printable(found), columns)]
      : tableLines(
          TIMELINE_HEADINGS,
          columns < WHOLE_TIME_COLUMNS ? found.map(short) : found,
          columns,
          style,
        )
  const head = headLines(message, columns, style)
  const room = Math.max(1, rows - 2 - head.length)
  const last = Math.max(0, lines.length - room)
  const scroll = (steps: number) => setFrom((at) => Math.min(Math.max(at + steps, 0), last))
  useKeys((key) => {
    if (key === 'escape' || key === 'enter' || key === 'q') close()
    else if (key === 'up' || key === 'k') scroll(-1)
    else if (key === 'down' || key === 'j') scroll(1)
    else if (key === 'pageup') scroll(-room)
    else if (key === 'pagedown') scroll(room)
  })
  const more =
    last > 0
      ? `  ↑↓ lines ${from + 1} to ${Math.min(from + room, lines.length)} of ${lines.length}`
      : ''
  const keys = style('dim', cut(`esc back${more}`, columns))
  return <Lines lines={[...head, ...exactly(lines.slice(from, from + room), room), keys]} />
}

function headLines(message: FailedMessage, columns: number, style: Style): string[] {
  const { id, channel, recipient, workspace_id, created_at } = message
  const about = `${channel} to ${printable(recipient)}, accepted ${created_at.toISOString()}`
  return [
    style('bold', cut(`Message ${printable(id)}`, columns)),
    cut(about, columns),
    cut(`workspace ${printable(workspace_id)}`, columns),
    '',
  ]
}

function short([time, ...rest]: TimelineRow): TimelineRow {
  return typeof time === 'string' ? [time.slice(11, 23), ...rest] : [time ?? '', ...rest]
}
