/** A value in JSON. */
export type Json = string | number | boolean | null | Json[] | { [name: string]: Json }

/** The value of a placeholder; undefined if the message has none. */
export type ValueOf = (name: string) => Json | undefined

const PLACEHOLDER = /\{\{([^{}]*)\}\}/g
const ALONE = /^\{\{([^{}]*)\}\}$/

/** A `{{name}}` in a template. `is_alone`: it is the whole text, so its value may be any JSON. */
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

/** The literal texts of a template, between its placeholders. */
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

/** The number of nested levels, at most `max`. A plain value has one level. */
export function depthOf(template: Json, max: number): number {
  if (max <= 1 || typeof template !== 'object' || template === null) return 1
  return 1 + Math.max(0, ...Object.values(template).map((each) => depthOf(each, max - 1)))
}

/**
 * Fills a template. A text that is only a placeholder becomes the value itself, of any type. If the placeholder has no
 * value, a member of an object is left out and an item of an array becomes null. Placeholders in values are not
 * replaced, and no JSON text is concatenated.
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

/** Fills a text; a missing value is empty. `encode` applies to values only. */
export function fillText(
  template: string,
  value_of: ValueOf,
  encode: (value: string) => string = (value) => value,
): string {
  return template.replaceAll(PLACEHOLDER, (_, name: string) => encode(textOf(value_of(name))))
}

/** Fills the pairs of a query or a form; a pair is left out if its placeholder has no value. */
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
