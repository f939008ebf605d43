import type { z } from 'zod'

type RawIssue = z.core.$ZodRawIssue

/** A path with dots: `content.text`, `recipients.3.to`. */
export function pathText(path: readonly PropertyKey[] | undefined): string {
  return (path ?? []).map(String).join('.')
}

/** The message for a missing required field. Source: interface, Errors. */
export function missingText(path: string): string {
  return `Missing required field: ${path}`
}

/** The message for a fault whose schema has no own message. It names the field and the rule. Source: interface, Errors. */
export function issueText(issue: RawIssue): string {
  const path = pathText(issue.path)
  if (path === '' && issue.code === 'invalid_type') return 'Request body must be a JSON object'
  if (issue.input === undefined && issue.code !== 'unrecognized_keys') return missingText(path)
  switch (issue.code) {
    case 'invalid_type':
      return `${path} must be ${article(issue.expected)}`
    case 'invalid_value':
      return `${path} must be ${oneOf(issue.values)}`
    case 'invalid_union':
      return unionText(path, issue)
    case 'unrecognized_keys':
      return unknownText(path, issue)
    case 'too_small':
      return `${path} must ${size(issue.origin, 'at least', issue.minimum)}`
    case 'too_big':
      return `${path} must ${size(issue.origin, 'at most', issue.maximum)}`
    case 'invalid_format':
      return issue.format === 'guid' ? `${path} must be a UUID` : `${path} is not well-formed`
    default:
      return `${path} is not valid`
  }
}

function article(expected: string): string {
  if (expected === 'record') return 'an object'
  if (expected === 'int') return 'an integer'
  return /^[aeiou]/.test(expected) ? `an ${expected}` : `a ${expected}`
}

function oneOf(values: readonly unknown[]): string {
  return values.length === 1 ? String(values[0]) : `one of: ${values.join(', ')}`
}

function size(origin: string, bound: string, n: number | bigint): string {
  if (origin === 'string' && Number(n) === 1 && bound === 'at least') return 'not be empty'
  if (origin === 'string') return `be ${bound} ${n} characters`
  if (origin === 'array') return `have ${bound} ${n} ${Number(n) === 1 ? 'item' : 'items'}`
  return `be ${bound} ${n}`
}

function unionText(path: string, issue: RawIssue & { code: 'invalid_union' }): string {
  const { discriminator, input } = issue
  if (discriminator === undefined) return `${path} is not valid`
  const value = (input as Record<string, unknown>)[String(discriminator)]
  return value === undefined || value === '' ? missingText(path) : `${path} is not valid`
}

function unknownText(path: string, issue: RawIssue & { code: 'unrecognized_keys' }): string {
  const prefix = path === '' ? '' : `${path}.`
  const [unknown = ''] = issue.keys
  const near = nearest(unknown, knownKeys(issue))
  const hint = near === null ? '' : `. Did you mean ${prefix}${near}?`
  return `Unknown field: ${prefix}${unknown}${hint}`
}

function knownKeys(issue: RawIssue): string[] {
  const def = issue.inst?._zod.def
  return def && 'shape' in def ? Object.keys(def.shape as object) : []
}

const NAME_LENGTH_MAX = 64

/** The known name that a misspelt name most likely means; null if none is near. */
export function nearest(name: string, known: readonly string[]): string | null {
  // A name of this length is not a misspelling, and the time of a comparison grows with the length.
  if (name.length > NAME_LENGTH_MAX) return null
  const closest = known
    .map((candidate) => ({
      candidate,
      edits: editDistance(name.toLowerCase(), candidate.toLowerCase()),
    }))
    .sort((a, b) => a.edits - b.edits)[0]
  if (!closest) return null
  return closest.edits <= Math.max(1, Math.floor(closest.candidate.length / 3))
    ? closest.candidate
    : null
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replace = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(replace, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}
