import type * as z from 'zod'
import { issueText, pathText } from '../endpoints/issue-text.ts'
import type { CreditPackage } from './billing.ts'
import { packageSettings } from './package-forms.ts'

/** Reads credit packages from JSON text. @throws RangeError that names the package, the field and the fault. */
export function readCreditPackages(json: string): CreditPackage[] {
  const value = parsed(json)
  const worded = new Set<string>()
  const error = (issue: RawIssue) => {
    const text = textOf(issue)
    worded.add(text)
    return text
  }
  const result = packageSettings.safeParse(value, { error })
  if (result.success) return result.data
  const { path = [], message = 'it is not a list' } = result.error.issues[0] ?? {}
  // A message that the schema itself defines does not name its field.
  const field = worded.has(message) ? '' : pathText(path.slice(1))
  throw new RangeError([nameOf(value, path[0]), field, message].filter(Boolean).join(': '))
}

type RawIssue = z.core.$ZodRawIssue

/** The text of a fault. The path in the text starts at the package. */
function textOf(issue: RawIssue): string {
  const path = issue.path ?? []
  if (issue.code === 'invalid_type' && path.length === 0) return 'it is not a list'
  if (issue.code === 'invalid_type' && path.length === 1) return 'it is not an object'
  return issueText({ ...issue, path: path.slice(1) }).trim()
}

/** Names a package by its id, or by its place in the list if it has no id. */
function nameOf(value: unknown, place: PropertyKey | undefined): string {
  if (typeof place !== 'number' || !Array.isArray(value)) return ''
  const { id } = (value[place] ?? {}) as { id?: unknown }
  return typeof id === 'string' && id !== ''
    ? `package ${JSON.stringify(id)}`
    : `package ${place + 1} of the list`
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    throw new RangeError('it is not valid JSON')
  }
}
