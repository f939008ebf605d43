import { READ_PLACES, type ReadPlace, type Reads } from './ports/storage.ts'

type Verbs = Record<string, (...values: unknown[]) => Promise<unknown>>

/** Combines equal sets of stores: each query is that of the set of its place. */
export function placedReads(sets: Record<ReadPlace, Reads>): Reads {
  const places: Record<string, Record<string, ReadPlace>> = READ_PLACES
  return eachVerb(sets.near, (store, verb) => {
    const { [places[store]?.[verb] ?? 'primary']: placed } = sets
    return (placed as unknown as Record<string, Verbs>)[store]?.[verb]
  })
}

/** The stores, whose queries throw what `errorOf` makes of their errors. */
export function withErrors(stores: Reads, errorOf: (error: unknown) => unknown): Reads {
  return eachVerb(stores, (_, __, run) => async (...values) => {
    try {
      return await run(...values)
    } catch (error) {
      throw errorOf(error)
    }
  })
}

function eachVerb(
  stores: Reads,
  make: (store: string, verb: string, run: Verbs[string]) => Verbs[string] | undefined,
): Reads {
  const made = Object.entries(stores as unknown as Record<string, Verbs>).map(([store, verbs]) => [
    store,
    Object.fromEntries(Object.entries(verbs).map(([verb, run]) => [verb, make(store, verb, run)])),
  ])
  return Object.fromEntries(made)
}
