import { usage } from '../process/failure.ts'

type Fields = Record<string, unknown>

/**
 * Merges `data.path.to=value` options into an object with the fields of `data`. A value that is not valid JSON is a
 * text.
 * @throws Failure for an option in any other form.
 */
export function overridesOf(options: readonly string[]): Fields {
  let fields: Fields = {}
  for (const option of options) {
    const [, path, text = ''] = /^data\.([^=]+)=(.*)$/s.exec(option) ?? []
    const keys = path?.split('.') ?? []
    if (keys.length === 0 || keys.includes('')) {
      throw usage(`--override must be data.field=value, got "${option}"`)
    }
    // `fromEntries` can create a field with the name __proto__; an assignment cannot.
    const value = keys.reduceRight<unknown>(
      (inner, key) => Object.fromEntries([[key, inner]]),
      parsed(text),
    )
    fields = merge(fields, value as Fields)
  }
  return fields
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function merge(base: Fields, over: Fields): Fields {
  const merged = new Map(Object.entries(base))
  for (const [key, value] of Object.entries(over)) {
    const before = merged.get(key)
    merged.set(key, isFields(before) && isFields(value) ? merge(before, value) : value)
  }
  return Object.fromEntries(merged)
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
