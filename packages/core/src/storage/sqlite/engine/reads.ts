import { NEAR_READS, type Reads } from '../../ports/storage.ts'

type Verbs = Record<string, (...values: unknown[]) => Promise<unknown>>

/** Combines two equal sets of stores: `near` runs the queries of `NEAR_READS`, `far` runs all others. */
export function divideReads(near: Reads, far: Reads): Reads {
  const nearVerbs: { [store: string]: readonly string[] } = NEAR_READS
  const stores = Object.entries(near as unknown as Record<string, Verbs>).map(([name, store]) => {
    const others = far[name as keyof Reads] as unknown as Verbs
    const verbs = Object.keys(store).map((verb) => [
      verb,
      nearVerbs[name]?.includes(verb) ? store[verb] : withoutValues(others[verb] as Verbs[string]),
    ])
    return [name, Object.fromEntries(verbs)]
  })
  return Object.fromEntries(stores)
}

/** Throws the thread's own error, because drizzle's error around it quotes the values of the query. */
function withoutValues(query: Verbs[string]): Verbs[string] {
  return async (...values) => {
    try {
      return await query(...values)
    } catch (error) {
      throw (error as { cause?: unknown }).cause ?? error
    }
  }
}
