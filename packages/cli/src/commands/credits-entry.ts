import type { Units } from '@svc/core/contract'
import type { Command } from 'commander'
import { Failure, usage } from '../process/failure.ts'
import { printable } from '../show/text.ts'

/**
 * The credits that an argument says, `name` being what the help calls it.
 * @throws Failure for anything but a number with at most six decimals.
 */
export async function readCredits(name: string, text: string): Promise<Units> {
  const { parseCredits } = await import('@svc/core/contract')
  try {
    return parseCredits(text)
  } catch {
    throw usage(`${name} must be a number of credits with at most six decimals, got "${text}"`)
  }
}

/** Adds the option that says who books an entry. */
export function withActor(command: Command): Command {
  return command.option(
    '--actor <name>',
    'who does it; stands in the ledger',
    readActor,
    'operator',
  )
}

function readActor(text: string): string {
  const name = text.trim()
  if (name !== '') return name
  throw usage('--actor must be a name')
}

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
