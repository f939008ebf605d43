/** @jsxRuntime automatic */
import { Box, type Key, Text, useInput, useStdout } from 'ink'
import { type ReactElement, useEffect, useReducer, useRef, useState } from 'react'
import type { TerminalSize } from '../show/text.ts'

/** Shows lines. A line that is too wide is cut, not wrapped. */
export function Lines({ lines }: { lines: readonly string[] }): ReactElement {
  return (
    <Box flexDirection="column">
      {lines.map((line, i) => (
        <Text key={i} wrap="truncate-end">
          {line === '' ? ' ' : line}
        </Text>
      ))}
    </Box>
  )
}

/** The size of the terminal, updated when it changes. */
export function useTerminalSize(): TerminalSize {
  const { stdout } = useStdout()
  const [size, setSize] = useState(() => sizeOf(stdout))
  useEffect(() => {
    const update = () => setSize(sizeOf(stdout))
    stdout.on('resize', update)
    return () => void stdout.off('resize', update)
  }, [stdout])
  return size
}

function sizeOf({ columns, rows }: Partial<TerminalSize>): TerminalSize {
  return { columns: columns || 80, rows: rows || 24 }
}

const NAMED = {
  upArrow: 'up',
  downArrow: 'down',
  pageUp: 'pageup',
  pageDown: 'pagedown',
  return: 'enter',
  escape: 'escape',
  backspace: 'backspace',
  delete: 'backspace',
} as const satisfies Partial<Record<keyof Key, string>>

/** Names of keys that arrive as control characters together with other keys. */
const CONTROLS: Record<string, string> = { '\r': 'enter', '\u007f': 'backspace', '\b': 'backspace' }

/**
 * Calls `press` for every key: `up`, `down`, `pageup`, `pagedown`, `enter`, `escape`, `backspace`, or the character
 * itself. Keys that arrive together are passed one after the other, without a render between them.
 */
export function useKeys(press: (key: string) => void, isActive = true): void {
  const latest = useRef(press)
  latest.current = press
  useInput(
    (input, key) => {
      for (const name of namesOf(input, key)) latest.current(name)
    },
    { isActive },
  )
}

function namesOf(input: string, key: Key): string[] {
  const named = Object.entries(NAMED).find(([property]) => key[property as keyof typeof NAMED])
  if (named) return [named[1]]
  if (key.ctrl || key.meta) return []
  return [...input].map((character) => CONTROLS[character] ?? character)
}

const TEXT_MAX = 80

/** A text input of one line. */
interface TypedText {
  /** The typed text; null while the input is closed. */
  text: string | null
  begin(text: string): void
  /** Handles a key of `useKeys`. Returns false while the input is closed. */
  press(key: string): boolean
}

/** Creates a text input. `onEnd` receives the text after Enter, and an empty text after Escape. */
export function useTypedText(onEnd: (text: string) => void): TypedText {
  const [, draw] = useReducer((count: number) => count + 1, 0)
  // The text is in a ref and not in a state, because several keys may arrive before the next render.
  const typed = useRef<string | null>(null)
  const set = (text: string | null) => {
    typed.current = text
    draw()
  }
  return {
    text: typed.current,
    begin: set,
    press(key) {
      const text = typed.current
      if (text === null) return false
      if (key === 'enter' || key === 'escape') {
        set(null)
        onEnd(key === 'enter' ? text : '')
      } else set(edited(text, key))
      return true
    },
  }
}

function edited(text: string, key: string): string {
  const characters = [...text]
  if (key === 'backspace') return characters.slice(0, -1).join('')
  const isCharacter = [...key].length === 1 && !/\p{Cc}/u.test(key)
  return isCharacter && characters.length < TEXT_MAX ? text + key : text
}
