import * as z from 'zod'

/** Where something is in a JSON document: RFC 6901, at most 16 levels. */
export const pointer = z
  .string()
  .max(256)
  .regex(/^(?:\/(?:[^~/]|~[01])*){1,16}$/, 'must be a JSON pointer, such as "/message/id"')

/** Where something is in a callback: a JSON pointer into its body, or "?" and the name of a query parameter. */
export const field = z
  .string()
  .max(256)
  .regex(
    /^(?:\?[^?&=#]+|(?:\/(?:[^~/]|~[01])*){1,16})$/,
    'must be a JSON pointer into the body, such as "/message/id", or a query parameter, such as "?id"',
  )

/** What is there, undefined where nothing is. Only a document's own members count. */
export function valueAt(document: unknown, pointer: string): unknown {
  let value = document
  for (const token of pointer.split('/').slice(1)) {
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}

/** A name or number as a text; undefined for anything else, and for what is empty. */
export function wordOf(value: unknown): string | undefined {
  if (!['string', 'number', 'boolean'].includes(typeof value)) return undefined
  return String(value).trim() || undefined
}

/** An id of the gateway's; null for what cannot be one. */
export function idOf(value: unknown): string | null {
  const word = wordOf(value)
  return word !== undefined && /^[\x21-\x7e]{1,256}$/.test(word) ? word : null
}

/** A code as it is stored; null for what cannot be one. */
export function codeOf(value: unknown): string | null {
  const word = wordOf(value)
  return word !== undefined && /^[\x21-\x7e]{1,100}$/.test(word) ? word : null
}

const MESSAGE_LENGTH = 300

/** What the gateway says, on one line and cut; null for nothing. */
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
