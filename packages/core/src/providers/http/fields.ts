import * as z from 'zod'
import { storedCode } from '../parse.ts'

/** A JSON pointer (RFC 6901), at most 16 levels. */
export const pointer = z
  .string()
  .max(256)
  .regex(/^(?:\/(?:[^~/]|~[01])*){1,16}$/, 'must be a JSON pointer, such as "/message/id"')

/** A field of a callback: a JSON pointer into its body, or "?" and the name of a query parameter. */
export const field = z
  .string()
  .max(256)
  .regex(
    /^(?:\?[^?&=#]+|(?:\/(?:[^~/]|~[01])*){1,16})$/,
    'must be a JSON pointer into the body, such as "/message/id", or a query parameter, such as "?id"',
  )

/** The value at a pointer; undefined if there is none. Inherited members do not count. */
export function valueAt(document: unknown, pointer: string): unknown {
  let value = document
  for (const token of pointer.split('/').slice(1)) {
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}

/** A string, number or boolean as a text; undefined for any other value and for an empty text. */
export function wordOf(value: unknown): string | undefined {
  if (!['string', 'number', 'boolean'].includes(typeof value)) return undefined
  return String(value).trim() || undefined
}

/** An id of the gateway; null if it is not valid. */
export function idOf(value: unknown): string | null {
  const word = wordOf(value)
  return word !== undefined && /^[\x21-\x7e]{1,256}$/.test(word) ? word : null
}

/** An error code as it is stored; null if it is not valid. */
export function codeOf(value: unknown): string | null {
  const word = wordOf(value)
  return word !== undefined && /^[\x21-\x7e]{1,100}$/.test(word) ? storedCode(word) : null
}

const MESSAGE_LENGTH = 300

/** An error message of the gateway, on one line and truncated; null if it is empty. */
export function messageOf(value: unknown): string | null {
  const line = wordOf(value)
    ?.slice(0, 4 * MESSAGE_LENGTH)
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim()
    .slice(0, MESSAGE_LENGTH)
    .toWellFormed()
  return line || null
}
