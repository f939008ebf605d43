/** A setting with a wrong value. The message names the variable and the values that it takes. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** Returns the text of a variable; undefined when it is empty. */
export type Read = (name: string) => string | undefined

/** One variable of a set. */
export interface Variable {
  name: string
  /** The fault of a text, without the text itself, which may be a secret; null for none. */
  fault(text: string): string | null
}

/**
 * The texts of a set, in its order; none when no variable of the set has one.
 * @throws ConfigError for the first that is wrong, or that is missing while another is set.
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
