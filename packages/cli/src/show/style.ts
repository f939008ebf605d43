import type { OutputStream } from '../process/process-io.ts'

const CODES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
} as const

/** The ways a text can be shown. */
export type StyleName = keyof typeof CODES

/** Shows a text in one of the ways, or as it is where that is not wanted. */
export type Style = (name: StyleName, text: string) => string

/** Colour on a terminal, unless NO_COLOR (https://no-color.org) or a dumb terminal says no. */
export function styleFor(stream: OutputStream, env: NodeJS.ProcessEnv): Style {
  const isWanted = stream.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb'
  if (!isWanted) return (_, text) => text
  return (name, text) => {
    const [on, off] = CODES[name]
    return `\u001b[${on}m${text}\u001b[${off}m`
  }
}
