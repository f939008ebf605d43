import { Failure } from './failure.ts'
import { printable } from './printable.ts'

/**
 * Books something under `id`; where the database went away before it said whether it was booked, the failure names the
 * id, so that it can be repeated and stands once.
 * @throws Failure then, and whatever else `book` throws.
 */
export async function withFate<T>(id: string, book: () => Promise<T>): Promise<T> {
  try {
    return await book()
  } catch (error) {
    if (codeOf(error) !== 'commit_unknown') throw error
    const message = `the database went away, and nobody knows whether this was booked: repeat it with --id ${printable(id)}, which books it once`
    throw new Failure('commit_unknown', message)
  }
}

/** Of an error or of what caused it: whoever passes it on may wrap it. */
function codeOf(error: unknown): unknown {
  if (!(error instanceof Error)) return undefined
  const { code } = error as { code?: unknown }
  return code === 'commit_unknown' ? code : codeOf(error.cause)
}
