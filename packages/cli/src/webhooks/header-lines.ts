import { usage } from '../process/failure.ts'

/** Headers by name in lower case; the first of a name counts. */
export type HeaderMap = Record<string, string>

/**
 * Reads `Name: value` lines, as curl and proxies write them, or a JSON object of them. A request line or status line at
 * the top, and what follows an empty line, are passed over.
 * @throws Failure for a line that is no header.
 */
export function readHeaders(text: string): HeaderMap {
  if (text.trimStart().startsWith('{')) return readJsonHeaders(text)
  const [head = ''] = text.trim().split(/\r?\n\r?\n/, 1)
  const lines = head.split(/\r?\n/).filter((line) => line !== '')
  const isStart = /^(?:HTTP\/\d|[A-Z]+ \S+ HTTP\/\d)/.test(lines[0] ?? '')
  return headersOf(isStart ? lines.slice(1) : lines)
}

/** Puts `Name: value` lines together. */
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
    throw usage('the headers begin like JSON but are none')
  }
}
