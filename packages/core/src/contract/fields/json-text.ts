import { invalid } from '../errors.ts'
import { LIMITS } from '../limits.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const COMMA = 0x2c
const ZERO = 0x30
const NINE = 0x39
const CAPITAL_E = 0x45
const SMALL_E = 0x65
const PLUS = 0x2b

/** The largest finite number has 309 digits before the point, or a three-digit exponent. Shorter numbers are finite. */
const FINITE_DIGITS = 308
const FINITE_EXPONENT_DIGITS = 2

/** The size of JSON text before it is parsed. */
export interface JsonShape {
  /** The nesting of objects and arrays; the outermost is level 1. */
  depth: number
  /** An upper bound of the number of values (members and items). Counting ends above `LIMITS.json_values_of_all`. */
  values: number
  /** Whether JavaScript may read a number as infinite. */
  has_vast_number: boolean
}

/**
 * Measures JSON text in linear time, so that a hostile text is refused before it is parsed. Ignores the content of strings.
 * Does not check whether the text is JSON. Source: contract sections 1 and 12.
 */
export function jsonShape(text: string): JsonShape {
  let open = 0
  let depth = 0
  let values = 1
  let digits = 0
  let digitsMax = FINITE_DIGITS
  let has_vast_number = false
  for (let i = 0; i < text.length && values <= LIMITS.json_values_of_all; i++) {
    const code = text.charCodeAt(i)
    if (code >= ZERO && code <= NINE) {
      if (++digits > digitsMax) has_vast_number = true
      continue
    }
    digits = 0
    if (code === SMALL_E || code === CAPITAL_E) digitsMax = FINITE_EXPONENT_DIGITS
    else if (code !== PLUS) digitsMax = FINITE_DIGITS
    if (code === QUOTE) i = endOfString(text, i)
    else if (code === COMMA) values++
    else if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
      values++
      if (++open > depth) depth = open
    } else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) open--
  }
  return { depth, values, has_vast_number }
}

/** A list that is a member of the outermost object, with its place in the JSON text. */
export interface JsonList {
  name: string
  /** The text of the object with an empty list in its place. */
  around: string
  /** Groups of consecutive items: the place of each group's text, and an upper bound of its number of values. */
  parts: { start: number; end: number; items: number; values: number }[]
}

/**
 * Finds the list with the most values among the members of the outermost object, and divides it between items into parts
 * of about `part_values` values. Null if no member is a list of several values. Does not check whether the text is JSON.
 */
export function longestList(text: string, part_values: number): JsonList | null {
  let longest: Omit<JsonList, 'around'> | null = null
  // An empty list looks like a list with a single value.
  let most = 1
  let list: { key: string; parts: JsonList['parts']; values: number } | null = null
  let part = { start: 0, end: 0, items: 0, values: 0 }
  let key = ''
  let open = 0
  const endPart = (end: number) => {
    part.end = end
    list?.parts.push(part)
    part = { start: end + 1, end: 0, items: 0, values: 0 }
  }
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) {
      const end = endOfString(text, i)
      if (open === 1) key = text.slice(i, end + 1)
      i = end
    } else if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
      open++
      if (open === 2 && code === OPEN_ARRAY) {
        list = { key, parts: [], values: 0 }
        part = { start: i + 1, end: 0, items: 1, values: 1 }
      } else if (list) part.values++
    } else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) {
      if (open === 2 && list) {
        endPart(i)
        const values = list.parts.reduce((sum, one) => sum + one.values, 0)
        if (values > most) {
          most = values
          longest = { name: list.key, parts: list.parts }
        }
        list = null
      }
      open--
    } else if (code === COMMA && list) {
      if (open > 2) part.values++
      else if (part.values < part_values) {
        part.items++
        part.values++
      } else {
        endPart(i)
        part.items = 1
        part.values = 1
      }
    }
  }
  return longest && located(text, longest)
}

function located(text: string, { name, parts }: Omit<JsonList, 'around'>): JsonList | null {
  const start = parts[0]?.start ?? 0
  const end = parts.at(-1)?.end ?? 0
  try {
    return { name: JSON.parse(name), around: text.slice(0, start) + text.slice(end), parts }
  } catch {
    return null
  }
}

function endOfString(text: string, start: number): number {
  for (let from = start + 1; ; ) {
    const end = text.indexOf('"', from)
    if (end === -1) return text.length
    let backslashes = 0
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return end
    // A loop skips a run of escapes, because 2 million searches for the next quote took 30 ms.
    from = end + 1
    while (text.charCodeAt(from) === BACKSLASH) from += 2
  }
}

const NUL_TEXT = 'Text must not contain the character U+0000'
const SURROGATE_TEXT = 'Text must not contain unpaired surrogates'
const NUMBER_TEXT = `Numbers must not be greater than ${Number.MAX_VALUE}`
const DEPTH_TEXT = `JSON must not be nested deeper than ${LIMITS.json_depth}`

/**
 * Refuses parsed JSON that contains, at any depth and also in keys, a text with U+0000 or an unpaired surrogate (databases
 * store neither), an infinite number (it would be stored as null), or more levels than `LIMITS.json_depth`. `path` is the
 * place of the value in the body. @throws SvcError 400 validation_error
 */
export function checkValue(value: unknown, path: readonly string[] = []): void {
  visit(value, path.length + 1, [...path])
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
