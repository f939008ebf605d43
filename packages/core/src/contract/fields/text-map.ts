import * as z from 'zod'
import { isRecord } from './fields.ts'

/** The limits of a map of texts. A rule returns the message of a fault, or null. */
interface TextMapRules {
  entries_max: number
  name: (name: string) => string | null
  value: (value: string) => string | null
}

/** An object whose values are texts. It is not copied: a copy would lose a key named `__proto__`. */
export function textMap({ entries_max, name, value }: TextMapRules) {
  return z
    .custom<Record<string, string>>(isRecord, {
      error: (issue) => `${(issue.path ?? []).join('.')} must be an object`,
    })
    .superRefine((map, ctx) => {
      const entries: [string, unknown][] = Object.entries(map)
      if (entries.length > entries_max) {
        ctx.addIssue({ code: 'custom', message: `At most ${entries_max} entries are allowed` })
        return
      }
      for (const [key, text] of entries) {
        const message =
          name(key) ?? (typeof text === 'string' ? value(text) : `${key} must be a string`)
        if (message !== null) ctx.addIssue({ code: 'custom', message, path: [key] })
      }
    })
    .meta({ type: 'object', additionalProperties: { type: 'string' }, maxProperties: entries_max })
}

// Printable ASCII, with spaces and tabs only inside. No character can end the header line.
const HEADER_VALUE = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/

/** The rule for the value of a header: one line of printable ASCII, 1 to `max` characters. */
export function headerValue(max: number): (value: string) => string | null {
  return (value) =>
    value.length <= max && HEADER_VALUE.test(value)
      ? null
      : `Header values must be 1 to ${max} printable ASCII characters`
}
