/** What JSON can say. */
export type Json = string | number | boolean | null | Json[] | { [name: string]: Json }

/** What a placeholder stands for; undefined where this message has no such thing. */
export type ValueOf = (name: string) => Json | undefined

const PLACEHOLDER = /\{\{([^{}]*)\}\}/g
const ALONE = /^\{\{([^{}]*)\}\}$/

/** A `{{name}}` in a template, and whether it is the whole of its text: then any JSON value can stand there. */
export interface Placeholder {
  name: string
  is_alone: boolean
}

export function placeholdersOf(template: Json): Placeholder[] {
  if (typeof template === 'string') {
    return [...template.matchAll(PLACEHOLDER)].map(([, name = '']) => ({
      name,
      is_alone: ALONE.test(template),
    }))
  }
  if (typeof template !== 'object' || template === null) return []
  return Object.values(template).flatMap(placeholdersOf)
}

/** What is written out in the texts of a template, between its placeholders. */
export function literalsOf(template: Json): string[] {
  if (typeof template === 'string') {
    return template
      .replaceAll(PLACEHOLDER, '\n')
      .split('\n')
      .flatMap((text) => text.trim() || [])
  }
  if (typeof template === 'number') return [String(template)]
  if (typeof template !== 'object' || template === null) return []
  return Object.values(template).flatMap(literalsOf)
}

/** How many levels there are, a plain value being one; stops counting at `max`. */
export function depthOf(template: Json, max: number): number {
  if (max <= 1 || typeof template !== 'object' || template === null) return 1
  return 1 + Math.max(0, ...Object.values(template).map((each) => depthOf(each, max - 1)))
}

/**
 * The template with values in it. A text that is nothing but a placeholder becomes the value itself, whatever its type;
 * a member of an object is left out where there is none, an item of an array becomes null. Values are never looked at
 * for placeholders, and nothing is put together as JSON text.
 */
export function fillJson(template: Json, value_of: ValueOf): Json | undefined {
  if (typeof template === 'string') {
    const [, name] = ALONE.exec(template) ?? []
    return name === undefined ? fillText(template, value_of) : value_of(name)
  }
  if (typeof template !== 'object' || template === null) return template
  if (Array.isArray(template)) return template.map((item) => fillJson(item, value_of) ?? null)
  return Object.fromEntries(
    Object.entries(template).flatMap(([name, each]) => {
      const value = fillJson(each, value_of)
      return value === undefined ? [] : [[name, value]]
    }),
  )
}

/** The same for a text: what is absent is empty. `encode` is applied to values alone. */
export function fillText(
  template: string,
  value_of: ValueOf,
  encode: (value: string) => string = (value) => value,
): string {
  return template.replaceAll(PLACEHOLDER, (_, name: string) => encode(textOf(value_of(name))))
}

/** Name-value pairs, for a query or a form; a pair is left out where its placeholder has no value. */
export function fillPairs(
  template: Readonly<Record<string, string>>,
  value_of: ValueOf,
): URLSearchParams {
  const pairs = new URLSearchParams()
  for (const [name, each] of Object.entries(template)) {
    const value = fillJson(each, value_of)
    if (value !== undefined) pairs.append(name, textOf(value))
  }
  return pairs
}

function textOf(value: Json | undefined): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
