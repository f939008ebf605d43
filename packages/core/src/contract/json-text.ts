import { invalid } from './errors.ts'
import { LIMITS } from './limits.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/**
 * Whether JSON text nests objects and arrays at most `max` deep, the outermost counting as 1: a look
 * before parsing, so that a hostile text is refused before it costs anything. Brackets in strings do
 * not count. Says nothing about whether the text is JSON at all. Source: contract sections 1 and 12.
 */
export function jsonDepthWithin(text: string, max: number): boolean {
  let open = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) i = endOfString(text, i)
    else if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
      if (++open > max) return false
    } else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) open--
  }
  return true
}

function endOfString(text: string, start: number): number {
  for (let end = start; ; ) {
    end = text.indexOf('"', end + 1)
    if (end === -1) return text.length
    let backslashes = 0
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return end
  }
}

const NUL_TEXT = 'Text must not contain the character U+0000'
const SURROGATE_TEXT = 'Text must not contain unpaired surrogates'
const NUMBER_TEXT = `Numbers must not be greater than ${Number.MAX_VALUE}`
const DEPTH_TEXT = `JSON must not be nested deeper than ${LIMITS.json_depth}`

/**
 * Throws `validation_error` when parsed JSON holds, at any depth and in keys too, a text with U+0000
 * or an unpaired surrogate (no database stores either), a number past all bounds (it would be kept as
 * null), or nests deeper than `LIMITS.json_depth`.
 */
export function checkValue(value: unknown): void {
  visit(value, 1, [])
}

function visit(value: unknown, depth: number, path: string[]): void {
  if (typeof value === 'string') checkString(value, path)
  if (typeof value === 'number' && !Number.isFinite(value)) refuse(NUMBER_TEXT, path)
  if (typeof value !== 'object' || value === null) return
  if (depth > LIMITS.json_depth) refuse(DEPTH_TEXT, path)
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      path.push(String(i))
      visit(value[i], depth + 1, path)
      path.pop()
    }
    return
  }
  for (const key of Object.keys(value)) {
    checkString(key, path)
    path.push(key)
    visit((value as Record<string, unknown>)[key], depth + 1, path)
    path.pop()
  }
}

function checkString(text: string, path: readonly string[]): void {
  if (text.includes('\u0000')) refuse(NUL_TEXT, path)
  if (!text.isWellFormed()) refuse(SURROGATE_TEXT, path)
}

function refuse(message: string, path: readonly string[]): never {
  throw invalid(path.join('.'), message)
}
