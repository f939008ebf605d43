/** @jsxRuntime automatic */
import { useApp, useStdout } from 'ink'
import { type ReactElement, useEffect, useReducer, useRef, useState } from 'react'
import { explain } from '../process/failure.ts'
import { cut, printable, type Style, type TerminalSize } from '../show/text.ts'
import { Lines, useKeys, useTerminalSize, useTypedText } from './terminal.tsx'

/** The maximum number of lines that wait while the log is paused. The oldest lines are dropped first. */
const HELD_MAX = 1_000
/** The maximum number of items in the list of choices. */
const CHOICE_MAX = 10

/** An item of a log. */
export interface LogItem {
  /** Returns the printable line of the item for a terminal with `columns` columns. */
  line: (columns: number) => string
  /** The text that a filter searches. */
  words: string
  /** The id that opens the item, if it can be opened. */
  id?: string
}

/** The receiver of items. */
export interface LogSink {
  add(item: LogItem): void
  /** Reports a fault of the connection; null reports that the fault is over. */
  trouble(text: string | null): void
}

export interface LineLogProps {
  /** The source of the items. */
  title: string
  style: Style
  /** Adds items until `signal` aborts. The view ends if the promise resolves or rejects earlier. */
  follow: (sink: LogSink, signal: AbortSignal) => Promise<void>
  /** Returns detail lines for an id. */
  open?: (id: string, columns: number) => Promise<string[]>
}

/** Scrolling lines above a fixed status line. */
export function lineLog(props: LineLogProps): ReactElement {
  return <LineLog {...props} />
}

function LineLog({ title, style, follow, open }: LineLogProps): ReactElement {
  const { exit } = useApp()
  const { write } = useStdout()
  const size = useTerminalSize()
  const [filter, setFilter] = useState('')
  const [isPaused, setPaused] = useState(false)
  const [trouble, setTrouble] = useState<string | null>(null)
  const [isChoosing, setChoosing] = useState(false)
  const typed = useTypedText(setFilter)
  const log = useLog({ filter, isPaused, size, write })

  useEffect(() => {
    const ending = new AbortController()
    follow({ add: log.add, trouble: setTrouble }, ending.signal).then(
      () => exit(),
      (error: unknown) => exit(error instanceof Error ? error : new Error(String(error))),
    )
    return () => ending.abort()
  }, [follow, exit, log.add])

  const openOne = (id: string) => {
    setChoosing(false)
    // New lines would scroll the details away.
    setPaused(true)
    open?.(id, size.columns)
      .catch((error: unknown) => [style('red', printable(explain(error).message))])
      .then((lines) => write(`${['', ...lines, ''].join('\n')}\n`))
  }
  const isTyping = typed.text !== null
  useKeys((key) => {
    if (typed.press(key)) return
    if (key === 'q') exit()
    else if (key === 'p') setPaused((before) => !before)
    else if (key === '/') typed.begin(filter)
    else if (key === 'escape') setFilter('')
    else if (key === 'enter' && open && log.latest.length > 0) setChoosing(true)
  }, !isChoosing)

  if (isChoosing) {
    const close = () => setChoosing(false)
    return <Choice items={log.latest} {...{ size, style, close, choose: openOne }} />
  }
  const state = [
    trouble === null ? null : printable(trouble),
    isPaused ? `paused, ${log.held} held` : null,
    log.dropped > 0 ? `${log.dropped} dropped` : null,
    filter === '' ? null : `filter "${printable(filter)}"`,
    `${log.shown} shown`,
    title,
  ]
  const mark = trouble === null ? style('green', '●') : style('red', '✗')
  const keys = isTyping
    ? `filter: ${typed.text}▏  enter keep  esc clear`
    : `q quit  / filter  p pause${open ? '  enter timeline' : ''}`
  return (
    <Lines
      lines={[
        `${mark} ${cut(state.filter(Boolean).join(' · '), size.columns - 2)}`,
        style('dim', cut(keys, size.columns)),
      ]}
    />
  )
}

/** Prints the items that match the filter. It keeps limited lists of held items and of the latest items. */
function useLog(state: {
  filter: string
  isPaused: boolean
  size: TerminalSize
  write: (text: string) => void
}) {
  const [, draw] = useReducer((count: number) => count + 1, 0)
  const current = useRef(state)
  current.current = state
  const [log] = useState(() => {
    const latest: LogItem[] = []
    let held: LogItem[] = []
    const counts = { shown: 0, dropped: 0 }
    function print(item: LogItem) {
      const { filter, size, write } = current.current
      if (!item.words.toLowerCase().includes(filter.toLowerCase())) return
      counts.shown++
      write(`${item.line(size.columns)}\n`)
    }
    return {
      latest,
      counts,
      held: () => held.length,
      add(item: LogItem) {
        if (item.id !== undefined) {
          const known = latest.findIndex(({ id }) => id === item.id)
          if (known >= 0) latest.splice(known, 1)
          latest.unshift(item)
          latest.length = Math.min(latest.length, CHOICE_MAX)
        }
        if (current.current.isPaused) held.push(item)
        else print(item)
        if (held.length > HELD_MAX) {
          held.shift()
          counts.dropped++
        }
        draw()
      },
      release() {
        const waiting = held
        held = []
        waiting.forEach(print)
        if (waiting.length > 0) draw()
      },
    }
  })
  useEffect(() => {
    if (!state.isPaused) log.release()
  }, [state.isPaused, log])
  return { add: log.add, latest: log.latest, held: log.held(), ...log.counts }
}

/** The list of the latest items. The user can open one of them. */
function Choice({
  items,
  size,
  style,
  close,
  choose,
}: {
  items: readonly LogItem[]
  size: TerminalSize
  style: Style
  close: () => void
  choose: (id: string) => void
}): ReactElement {
  // New items must not move the list.
  const [shown] = useState(() => items.slice(0, Math.max(1, size.rows - 4)))
  const at = useRef(0)
  const [, draw] = useReducer((count: number) => count + 1, 0)
  const move = (steps: number) => {
    at.current = Math.min(Math.max(at.current + steps, 0), shown.length - 1)
    draw()
  }
  useKeys((key) => {
    if (key === 'up' || key === 'k') move(-1)
    else if (key === 'down' || key === 'j') move(1)
    else if (key === 'escape' || key === 'q') close()
    else if (key === 'enter') choose(shown[at.current]?.id ?? '')
  })
  const lines = shown.map((item, i) => {
    const line = item.line(size.columns - 2)
    return i === at.current ? `${style('bold', '›')} ${line}` : `  ${line}`
  })
  const keys = style('dim', cut('↑↓ select  enter timeline  esc back', size.columns))
  return <Lines lines={[...lines, keys]} />
}
