import { type Key, useInput } from 'ink'
import { useRef } from 'react'

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
