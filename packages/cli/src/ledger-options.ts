import type { Command } from 'commander'
import type { Context } from './context.ts'
import { findWorkspace, withCore } from './operator.ts'

/** Adds the option that keeps a command to one workspace. */
export function withOneWorkspace(command: Command): Command {
  return command.option('--workspace <id-or-email>', 'this workspace alone (default: all)')
}

/** What to do about a database that cannot be read. */
export const WAYS_OUT = {
  not_found: 'set SVC_DATABASE_URL or SVC_DATA_DIR',
  behind: 'svc migrate brings it there',
  newer: 'use that version',
}

/** The workspace that is meant, if one is. */
export async function workspaceIdOf(
  { surroundings }: Context,
  selector: string | undefined,
): Promise<string | undefined> {
  if (selector === undefined) return undefined
  return withCore(surroundings, async (core) => (await findWorkspace(core, selector)).id)
}
