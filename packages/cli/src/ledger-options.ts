import type { Command } from 'commander'
import type { Context } from './context.ts'
import { withWayOut } from './database-option.ts'
import { Failure } from './failure.ts'
import { findWorkspace, withCore } from './operator.ts'

/** Adds the option that keeps a command to one workspace. */
export function withOneWorkspace(command: Command): Command {
  return command.option('--workspace <id-or-email>', 'this workspace alone (default: all)')
}

/** What to do about a database that cannot be read. */
const WAYS_OUT: Readonly<Record<string, string>> = {
  not_found: 'set SVC_DATABASE_URL or SVC_DATA_DIR',
  behind: 'svc migrate brings it there',
  newer: 'use that version',
}

/** What is said of a database that cannot be read. It ends with 2: 1 is for books that do not add up. */
export function asUnreadable(thrown: unknown): unknown {
  const said = withWayOut(thrown, WAYS_OUT)
  return said instanceof Failure && said.code in WAYS_OUT
    ? new Failure(said.code, said.message, 2)
    : said
}

/** The workspace that is meant, if one is. */
export async function workspaceIdOf(
  { surroundings }: Context,
  selector: string | undefined,
): Promise<string | undefined> {
  if (selector === undefined) return undefined
  return withCore(surroundings, async (core) => (await findWorkspace(core, selector)).id)
}
