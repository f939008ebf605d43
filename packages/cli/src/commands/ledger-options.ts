import type { Command } from 'commander'
import { findWorkspace, withCore } from '../connect/operator.ts'
import type { Context } from '../context.ts'
import { Failure } from '../process/failure.ts'
import { withAdvice } from '../settings/database-option.ts'

/** Adds the option that keeps a command to one workspace. */
export function withOneWorkspace(command: Command): Command {
  return command.option('--workspace <id-or-email>', 'this workspace alone (default: all)')
}

/** What to do about a database that cannot be read. */
const ADVICE: Readonly<Record<string, string>> = {
  not_found: 'set SVC_DATABASE_URL or SVC_DATA_DIR',
  behind: 'svc migrate brings it there',
  newer: 'use that version',
}

/** What is said of a database that cannot be read. It ends with 2: 1 is for books that do not add up. */
export function asUnreadable(thrown: unknown): unknown {
  const said = withAdvice(thrown, ADVICE)
  return said instanceof Failure && said.code in ADVICE
    ? new Failure(said.code, said.message, 2)
    : said
}

/** The workspace that is meant, if one is. */
export async function workspaceIdOf(
  { io }: Context,
  selector: string | undefined,
): Promise<string | undefined> {
  if (selector === undefined) return undefined
  return withCore(io, async (core) => (await findWorkspace(core, selector)).id)
}
