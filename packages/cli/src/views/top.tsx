/** @jsxRuntime automatic */
import type { Channel } from '@svc/core/contract'
import { createHistory, type Reading } from '@svc/core/operate'
import { useApp } from 'ink'
import { type ReactElement, useEffect, useReducer, useRef, useState } from 'react'
import { explain } from '../process/failure.ts'
import type { Style } from '../show/style.ts'
import { cut } from '../show/text.ts'
import { type FailedMessage, hasText } from '../top/failure-lines.ts'
import { keepReading } from '../top/reading.ts'
import { exactly, screenLines, type TopData } from '../top/screen.ts'
import { useKeys } from './keys.ts'
import { Lines, useTerminalSize } from './terminal.tsx'
import { Timeline, type TimelineRow } from './timeline.tsx'
import { useTypedText } from './typed-text.ts'

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
