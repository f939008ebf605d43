/** A setting with a wrong value. The message names the variable and the values that it takes. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** Returns the text of a variable; undefined if the variable is empty or not set. */
export type Read = (name: string) => string | undefined

/** One variable of a set. */
export interface Variable {
  name: string
  /** Describes the fault of a text without the text, which may be a secret; null for no fault. */
  fault(text: string): string | null
}

/**
 * The texts of a set of variables, in its order; an empty list if no variable of the set has a text.
 * @throws ConfigError for the first variable that is wrong, or that is missing while another is set.
 */
export function readSet(set: readonly Variable[], read: Read): string[] {
  const first = set.find(({ name }) => read(name) !== undefined)
  return set.flatMap(({ name, fault }) => {
    const text = read(name)
    if (text !== undefined) {
      const wrong = fault(text)
      if (wrong !== null) throw new ConfigError(`${name} ${wrong}`)
      return [text]
    }
    if (first) throw new ConfigError(`${name} must be set too: ${first.name} alone is half a set`)
    return []
  })
}

/** The items of a list, which commas separate. */
export function itemsOf(text: string): string[] {
  return text.split(',').flatMap((item) => item.trim() || [])
}
