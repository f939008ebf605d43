import { useReducer, useRef } from 'react'

const TEXT_MAX = 80

/** A text input of one line. */
export interface TypedText {
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
