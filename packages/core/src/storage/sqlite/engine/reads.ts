import type { Reads } from '../../ports/storage.ts'

type Verbs = Record<string, (...values: unknown[]) => Promise<unknown>>

/**
 * The read verbs of two equal sets of stores: those that find one row by its key are answered at once by `near`, all
 * others, which may take long, by `far`. The name tells: `byId`, `byEmail`, `account`.
 */
export function divideReads(near: Reads, far: Reads): Reads {
  const stores = Object.entries(near).map(([name, store]: [string, Verbs]) => {
    const others = far[name as keyof Reads] as unknown as Verbs
    const verbs = Object.keys(store).map((verb) => [
      verb,
      isPoint(verb) ? store[verb] : plainly(others[verb] as Verbs[string]),
    ])
    return [name, Object.fromEntries(verbs)]
  })
  return Object.fromEntries(stores)
}

function isPoint(verb: string): boolean {
  return (/^by[A-Z]/.test(verb) && !verb.endsWith('Ids')) || verb === 'account'
}

/** Fails with what the thread said: drizzle puts an error of its own around it, which tells the values asked about. */
function plainly(ask: Verbs[string]): Verbs[string] {
  return async (...values) => {
    try {
      return await ask(...values)
    } catch (error) {
      throw (error as { cause?: unknown }).cause ?? error
    }
  }
}
