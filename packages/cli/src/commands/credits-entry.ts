import type { Units } from '@svc/core/contract'
import type { Command } from 'commander'
import { Failure, usage } from '../process/failure.ts'
import { printable } from '../show/text.ts'

/**
 * Reads an amount of credits; `name` is the argument or option in errors.
 * @throws Failure for anything except a number with at most six decimals.
 */
export async function readCredits(name: string, text: string): Promise<Units> {
  const { parseCredits } = await import('@svc/core/contract')
  try {
    return parseCredits(text)
  } catch {
    throw usage(`${name} must be a number of credits with at most six decimals, got "${text}"`)
  }
}

/** Adds the option for the actor of an entry. */
export function withActor(command: Command): Command {
  return command.option(
    '--actor <name>',
    'your name, recorded in the ledger',
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
 * Books an entry with `id`. If the database connection is lost before the commit is confirmed, the failure names the id,
 * so that the operator can repeat the command safely.
 * @throws Failure `commit_unknown` after such a loss, and any other error of `book`.
 */
export async function withRetryHint<T>(id: string, book: () => Promise<T>): Promise<T> {
  try {
    return await book()
  } catch (error) {
    if (codeOf(error) !== 'commit_unknown') throw error
    const message = `the connection to the database was lost, and the entry may or may not be booked: repeat the command with --id ${printable(id)}, which books it only once`
    throw new Failure('commit_unknown', message)
  }
}

/** The code of an error or of one of its causes. */
function codeOf(error: unknown): unknown {
  if (!(error instanceof Error)) return undefined
  const { code } = error as { code?: unknown }
  return code === 'commit_unknown' ? code : codeOf(error.cause)
}
