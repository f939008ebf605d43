import type { z } from 'zod'
import { type ErrorDetail, SvcError } from '../errors.ts'
import { isRecord } from '../fields/fields.ts'
import { issueText, missingText, nearest, pathText } from './issue-text.ts'

// The texts of errors are built only for refused requests.
const REFUSAL = { error: issueText }

/** Decodes JSON by its schema. @throws SvcError 400 validation_error with all faults in `details`; `message` is the first. */
export function decode<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value, REFUSAL)
  if (result.success) return result.data
  throw refusal(schema, value, result.error.issues)
}

const SHOWN_NAME_LENGTH = 64

/**
 * Refuses the parameters of a query that its schema does not name: a misspelt filter must not give the whole list. A loose
 * schema takes any parameter, and its handler checks them.
 * @throws SvcError 400 validation_error with the nearest known name
 */
export function refuseUnknownParameters(query: z.ZodObject | undefined, value: object): void {
  const given = Object.keys(value)
  if (given.length === 0 || query?.def.catchall) return
  const known = Object.keys(query?.shape ?? {})
  const details = given
    .filter((name) => !known.includes(name))
    .map((name): ErrorDetail => {
      const near = nearest(name, known)
      const hint = near === null ? '' : `. Did you mean ${near}?`
      const shown = name.slice(0, SHOWN_NAME_LENGTH)
      return { path: '', message: `Unknown query parameter: ${shown}${hint}` }
    })
  const [first] = details
  if (first) throw new SvcError('validation_error', first.message, { details })
}

function refusal(schema: z.ZodType, value: unknown, issues: readonly z.core.$ZodIssue[]): SvcError {
  const missing = emptyRequiredFields(schema, value, issues)
  const details = issues.map(({ path, message }): ErrorDetail => {
    const where = pathText(path)
    return { path: where, message: missing.has(where) ? missingText(where) : message }
  })
  const unique = details.filter(
    ({ path }, i) => !missing.has(path) || details.findIndex((other) => other.path === path) === i,
  )
  return new SvcError('validation_error', unique[0]?.message ?? 'Invalid request', {
    details: unique,
  })
}

/**
 * An empty string in a required field counts as missing; in an optional field it is a wrong value. A field is required if
 * the schema refuses the object without this field.
 */
function emptyRequiredFields(
  schema: z.ZodType,
  value: unknown,
  issues: readonly z.core.$ZodIssue[],
): Set<string> {
  const empty = issues.filter(({ path }) => path.length > 0 && valueAt(value, path) === '')
  if (empty.length === 0) return new Set()
  const cleared = structuredClone(value)
  for (const { path } of empty) {
    const owner = valueAt(cleared, path.slice(0, -1))
    if (isRecord(owner)) delete owner[String(path.at(-1))]
  }
  const again = schema.safeParse(cleared, REFUSAL)
  if (again.success) return new Set()
  const refused = new Set(again.error.issues.map(({ path }) => pathText(path)))
  return new Set(empty.map(({ path }) => pathText(path)).filter((path) => refused.has(path)))
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let at = value
  for (const key of path) {
    if (typeof at !== 'object' || at === null) return undefined
    at = (at as Record<PropertyKey, unknown>)[key]
  }
  return at
}
