/** The position of the first JSON syntax error; lines and columns count from 1. */
export interface JsonFault {
  line: number
  column: number
}

const SPACE = /[ \t\r\n]*/y
const STRING = /"(?:[^"\\\r\n\t]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y
const OTHER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y

/** The maximum nesting depth, so that the recursion cannot exhaust the stack. */
const DEPTH_MAX = 100

/**
 * Finds the first JSON syntax error; null for valid JSON. `JSON.parse` gives the position only in some versions of
 * Node, and its message quotes the text at that position, which may be a secret.
 */
export function jsonFault(text: string): JsonFault | null {
  let at = 0
  const skip = (pattern: RegExp) => {
    pattern.lastIndex = at
    const found = pattern.test(text)
    if (found) at = pattern.lastIndex
    return found
  }
  const string = () => {
    const from = at
    if (!skip(STRING)) return false
    if (isJson(text.slice(from, at))) return true
    at = from
    return false
  }
  const is = (character: string) => {
    skip(SPACE)
    if (text[at] !== character) return false
    at += 1
    return true
  }
  const items = (end: string, item: () => boolean): boolean => {
    if (is(end)) return true
    do {
      if (!item()) return false
    } while (is(','))
    return is(end)
  }
  const value = (depth: number): boolean => {
    if (depth > DEPTH_MAX) return false
    skip(SPACE)
    if (is('[')) return items(']', () => value(depth + 1))
    if (is('{')) return items('}', () => member(depth + 1))
    return string() || skip(OTHER)
  }
  const member = (depth: number): boolean => {
    skip(SPACE)
    return string() && is(':') && value(depth)
  }
  const isValue = value(0)
  skip(SPACE)
  if (isValue && at === text.length) return null
  const before = text.slice(0, at).split('\n')
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 }
}

/** Whether the text is JSON. `STRING` also accepts control characters, which JSON strings must not contain. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
