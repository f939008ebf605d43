import { usage } from '../process/failure.ts'

/** Headers with lower-case names. A name that occurs several times has its first value. */
export type HeaderMap = Record<string, string>

/**
 * Reads `Name: value` lines, which is the format of curl and proxies, or a JSON object. Skips a request line or a
 * status line at the top, and all text after an empty line.
 * @throws Failure for a line that is not a header.
 */
export function readHeaders(text: string): HeaderMap {
  if (text.trimStart().startsWith('{')) return readJsonHeaders(text)
  const [head = ''] = text.trim().split(/\r?\n\r?\n/, 1)
  const lines = head.split(/\r?\n/).filter((line) => line !== '')
  const isStart = /^(?:HTTP\/\d|[A-Z]+ \S+ HTTP\/\d)/.test(lines[0] ?? '')
  return headersOf(isStart ? lines.slice(1) : lines)
}

/** Reads `Name: value` lines. */
export function headersOf(lines: readonly string[]): HeaderMap {
  const headers: HeaderMap = {}
  for (const line of lines) {
    const [, name, value = ''] = /^([^\s:]+)\s*:(.*)$/.exec(line) ?? []
    if (name === undefined) throw usage(`a header must be "name: value", got "${line}"`)
    headers[name.toLowerCase()] ??= value.trim()
  }
  return headers
}

function readJsonHeaders(text: string): HeaderMap {
  try {
    const entries = Object.entries(JSON.parse(text) as Record<string, unknown>)
    return Object.fromEntries(
      entries.map(([name, value]) => [name.toLowerCase(), String([value].flat()[0])]),
    )
  } catch {
    throw usage('the headers start like JSON but are not valid JSON')
  }
}
