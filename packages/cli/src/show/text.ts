import type { Gsm7Suggestion, NonGsmCharacter } from '@svc/core/sms'
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

/** The size of a terminal in characters. */
export interface TerminalSize {
  columns: number
  rows: number
}

const UNSAFE = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

const SHORT: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/**
 * Returns a foreign text in a form that stays on one line and cannot control the terminal. Control characters and text
 * direction characters become escapes.
 */
export function printable(text: string): string {
  return text.replace(UNSAFE, (character) => {
    const code = character.charCodeAt(0).toString(16).padStart(4, '0')
    return SHORT[character] ?? `\\u${code}`
  })
}

/** The East Asian characters that take two columns. `EMOJI` matches emoji by their Unicode property. */
const WIDE =
  /[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\u33ff\u3400-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]/u
const EMOJI = /\p{Emoji_Presentation}|\ufe0f/u
const ZERO_WIDTH = /^[\p{Mark}\p{Default_Ignorable_Code_Point}]+$/u
const PLAIN = /^[\x20-\x7e]*$/

let segmenter: Intl.Segmenter | null = null

/** The number of columns that a text takes on a terminal. The text must be printable and without colours. */
export function textWidth(text: string): number {
  if (PLAIN.test(text)) return text.length
  return charactersOf(text).reduce((sum, character) => sum + characterWidth(character), 0)
}

/** Returns a text that takes exactly `columns` columns: it is padded with spaces, or cut with `…`. */
export function column(text: string, columns: number): string {
  const short = cut(text, columns)
  return short + ' '.repeat(Math.max(0, columns - textWidth(short)))
}

/** Returns the same as `column`, but aligns the text on the right. */
export function columnRight(text: string, columns: number): string {
  const short = cut(text, columns)
  return ' '.repeat(Math.max(0, columns - textWidth(short))) + short
}

/** Returns a text that takes at most `columns` columns: a longer text is cut with `…`. */
export function cut(text: string, columns: number): string {
  if (textWidth(text) <= columns) return text
  let kept = ''
  let left = columns - 1
  for (const character of charactersOf(text)) {
    left -= characterWidth(character)
    if (left < 0) break
    kept += character
  }
  return columns > 0 ? `${kept}…` : ''
}

/** Splits a text into lines of at most `columns` columns, between words if possible. */
export function wrapped(text: string, columns: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const part of text.split(/(?<= )/)) {
    if (line !== '' && textWidth(line + part.trimEnd()) > columns) {
      lines.push(line.trimEnd())
      line = ''
    }
    for (const character of charactersOf(part)) {
      if (line !== '' && textWidth(line + character) > columns && character !== ' ') {
        lines.push(line)
        line = ''
      }
      line += character
    }
  }
  return [...lines, line.trimEnd()]
}

/** Splits a text into grapheme clusters: a letter with its accents, or an emoji of several parts. */
function charactersOf(text: string): string[] {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' })
  return Array.from(segmenter.segment(text), ({ segment }) => segment)
}

function characterWidth(character: string): number {
  if (ZERO_WIDTH.test(character)) return 0
  return WIDE.test(character) || EMOJI.test(character) ? 2 : 1
}

/** A number with its noun: `1 message`, `1,200 messages`. An amount of credits is a text: `0.5 credits`. */
export function counted(n: number | string, noun: string, plural = `${noun}s`): string {
  const text = typeof n === 'number' ? n.toLocaleString('en') : n
  return `${text} ${text === '1' ? noun : plural}`
}

/** The number of characters that are shown to people. */
const SHOWN_MAX = 10

/** The characters that require UCS-2, with their positions. */
export function charactersText(found: readonly NonGsmCharacter[]): string {
  const shown = found.slice(0, SHOWN_MAX).map(({ char, index }) => `${char} at ${index}`)
  const more = found.length - shown.length
  return more > 0 ? `${shown.join(', ')} and ${more} more` : shown.join(', ')
}

/** The suggested GSM-7 text and its number of segments. */
export function suggestionText({ text, segments }: Gsm7Suggestion): string {
  return `${JSON.stringify(printable(text))} (${counted(segments, 'segment')})`
}
