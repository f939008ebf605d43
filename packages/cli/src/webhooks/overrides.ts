import { usage } from '../process/failure.ts'

type Fields = Record<string, unknown>

/**
 * Puts `data.path.to=value` options together into the fields of `data` that they name. A value that is JSON is that, any
 * other a text.
 * @throws Failure for one that is not of that form.
 */
export function overridesOf(options: readonly string[]): Fields {
  let fields: Fields = {}
  for (const option of options) {
    const [, path, text = ''] = /^data\.([^=]+)=(.*)$/s.exec(option) ?? []
    const keys = path?.split('.') ?? []
    if (keys.length === 0 || keys.includes('')) {
      throw usage(`--override must be data.field=value, got "${option}"`)
    }
    // `fromEntries` makes a field of any name; assigning to one named __proto__ would not.
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
