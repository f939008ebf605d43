/** @jsxRuntime automatic */
import type { Channel } from '@svc/core/contract'
import { createHistory, type Reading } from '@svc/core/operate'
import { useApp } from 'ink'
import { type ReactElement, useEffect, useReducer, useRef, useState } from 'react'
import { TIMELINE_HEADINGS } from '../messages/message-rows.ts'
import { explain } from '../process/failure.ts'
import type { Cell } from '../show/output.ts'
import { cut, printable, type Style, type TerminalSize } from '../show/text.ts'
import { keepReading } from '../top/reading.ts'
import { exactly, type FailedMessage, hasText, screenLines, type TopData } from '../top/screen.ts'
import { tableLines } from './table-lines.ts'
import { Lines, useKeys, useTerminalSize, useTypedText } from './terminal.tsx'

export interface TopProps {
  read: (channel: Channel | null) => Promise<Reading>
  timeline: (message: FailedMessage) => Promise<TimelineRow[]>
  interval_ms: number
  /** The channel at the start; null for all channels. */
  channel: Channel | null
  style: Style
  now: () => Date
}

const KEYS = 'q quit  ↑↓ select  enter timeline  / filter  c channel  p pause  ? help'

const HELP = [
  'q, Ctrl-C   quit',
  '↑ ↓, k j    select a failure; Page Up, Page Down: ten failures',
  'enter       show the timeline of the selected message; esc returns',
  '/           show only failures with a text in their recipient, channel, error,',
  '            provider, workspace or id; esc shows all failures',
  'c           show the next channel, or all channels',
  'p           pause the screen; p again resumes it',
  '',
  'per second  the average of the last 5 seconds',
  'sent        accepted by a provider, without messages that failed later',
  'due         the time to send has come; due for: the oldest of them',
  'unknown     it is unknown whether a provider has accepted the message',
  '',
  'Press any key to return.',
]

/** The live view of the whole service. */
export function topView(props: TopProps): ReactElement {
  return <Top {...props} />
}

function Top({ timeline, style, ...props }: TopProps): ReactElement {
  const { exit } = useApp()
  const size = useTerminalSize()
  const [channel, setChannel] = useState(props.channel)
  const [filter, setFilter] = useState('')
  const [, draw] = useReducer((count: number) => count + 1, 0)
  const [opened, open] = useState<FailedMessage | null>(null)
  const [isHelp, setHelp] = useState(false)
  const [frozen, freeze] = useState<TopData | null>(null)
  const live = useTopData(props, channel)
  const typed = useTypedText(setFilter)

  const data = frozen ?? live
  const activeFilter = typed.text ?? filter
  const failures = (data.reading?.troubles.failures ?? []).filter(
    (failure) =>
      (channel === null || failure.channel === channel) &&
      (activeFilter === '' || hasText(failure, activeFilter)),
  )
  const selected = useRef<string | null>(null)
  const select = (steps: number) => {
    const at = failures.findIndex(({ id }) => id === selected.current)
    const next = Math.min(Math.max(Math.max(at, 0) + steps, 0), failures.length - 1)
    selected.current = failures[next]?.id ?? null
    draw()
    return failures[next] ?? null
  }
  const isTyping = typed.text !== null

  useKeys((key) => {
    if (typed.press(key)) return
    if (isHelp) setHelp(false)
    else if (key === 'q') exit()
    else if (key === 'up' || key === 'k') select(-1)
    else if (key === 'down' || key === 'j') select(1)
    else if (key === 'pageup') select(-10)
    else if (key === 'pagedown') select(10)
    else if (key === 'enter') open(select(0))
    else if (key === 'escape') setFilter('')
    else if (key === '/') typed.begin(filter)
    else if (key === 'c') setChannel((before) => nextChannel(before, data.reading))
    else if (key === 'p')
      freeze((before) => (before ? null : { ...live, history: live.history.copy() }))
    else if (key === '?') setHelp(true)
  }, opened === null)

  if (opened) {
    const close = () => open(null)
    return <Timeline {...{ message: opened, load: timeline, close, size, style }} />
  }
  const viewState = {
    channel,
    filter: activeFilter,
    isPaused: frozen !== null,
    selected_id: selected.current,
    failures,
  }
  const lines = isHelp
    ? exactly([style('bold', 'svc top'), '', ...HELP], Math.max(1, size.rows - 2))
    : screenLines(data, viewState, size, style)
  const last = isTyping ? `filter: ${typed.text}▏  enter keep  esc clear` : KEYS
  return <Lines lines={[...lines, style('dim', cut(last, size.columns))]} />
}

/** The latest reading, refreshed at each interval. */
function useTopData(
  { read, interval_ms, now }: Omit<TopProps, 'timeline' | 'style'>,
  channel: Channel | null,
): TopData {
  const [history] = useState(createHistory)
  const [data, setData] = useState<TopData>({ reading: null, history, outage: null })
  useEffect(() => {
    const ending = new AbortController()
    void keepReading(() => read(channel), {
      interval_ms,
      signal: ending.signal,
      onReading(reading) {
        history.add(reading.overview)
        setData({ reading, history, outage: null })
      },
      onOutage(error) {
        const outage = { now: now(), text: explain(error).message }
        setData(({ reading, outage: before }) => ({
          reading,
          history,
          outage: { since: before?.since ?? outage.now, ...outage },
        }))
      },
    })
    return () => ending.abort()
  }, [read, interval_ms, now, history, channel])
  return data
}

/** The next channel that has messages; null (all channels) after the last channel. */
function nextChannel(channel: Channel | null, reading: Reading | null): Channel | null {
  const known = [...new Set(reading?.overview.messages.map((total) => total.channel))]
  return known[channel === null ? 0 : known.indexOf(channel) + 1] ?? null
}

/** @jsxRuntime automatic */

type TimelineRow = readonly Cell[]

/** A terminal with fewer columns shows times without the date. The head of the view shows the date. */
const WHOLE_TIME_COLUMNS = 120

/** The timeline of one message on the whole screen. */
function Timeline({
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
