import type { OutputStream } from '../process/process-io.ts'

const CODES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
} as const

/** The styles of a text. */
export type StyleName = keyof typeof CODES

/** Adds a style to a text. Returns the text unchanged if styles are off. */
export type Style = (name: StyleName, text: string) => string

/** Returns a style that adds colours on a terminal, except with NO_COLOR (https://no-color.org) or TERM=dumb. */
export function styleFor(stream: OutputStream, env: NodeJS.ProcessEnv): Style {
  const hasColours = stream.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb'
  if (!hasColours) return (_, text) => text
  return (name, text) => {
    const [on, off] = CODES[name]
    return `\u001b[${on}m${text}\u001b[${off}m`
  }
}
