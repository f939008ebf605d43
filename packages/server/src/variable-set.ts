import { ConfigError } from './config-error.ts'

/** Answers the text of a variable; undefined when it is empty. */
export type Read = (name: string) => string | undefined

/** One variable of a set. */
export interface Variable {
  name: string
  /** What is wrong with a text, without repeating it: it may be a secret. Null when nothing is. */
  fault(text: string): string | null
}

/**
 * The texts of a set, in its order; none when none is set.
 * @throws ConfigError for the first that is wrong, or missing where another is there.
 */
export function readSet(set: readonly Variable[], read: Read): string[] {
  const given = set.filter(({ name }) => read(name) !== undefined)
  const [first] = given
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
