import { useReducer, useRef } from 'react'

const TEXT_MAX = 80

/** A line that somebody types. */
export interface TypedText {
  /** What is typed so far; null while nobody types. */
  text: string | null
  begin(text: string): void
  /** Takes a key as `useKeys` names it; false while nobody types, and the key is for others. */
  press(key: string): boolean
}

/** `onEnd` gets what was typed at Enter, and an empty text at Escape. */
export function useTypedText(onEnd: (text: string) => void): TypedText {
  const [, draw] = useReducer((count: number) => count + 1, 0)
  // Not a state: of keys that arrive together the second must know of the first.
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
