import type { Command } from 'commander'
import { findWorkspace, withCore } from '../connect/operator.ts'
import type { Context } from '../context.ts'
import { Failure } from '../process/failure.ts'
import { withAdvice } from '../settings/database-option.ts'

/** Adds the option that limits a command to one workspace. */
export function withOneWorkspace(command: Command): Command {
  return command.option('--workspace <id-or-email>', 'only this workspace (default: all)')
}

/** Advice for a database that cannot be read. */
const ADVICE: Readonly<Record<string, string>> = {
  not_found: 'set SVC_DATABASE_URL or SVC_DATA_DIR',
  behind: 'run svc migrate',
  newer: 'use that version',
}

/** Explains a database that cannot be read. The exit code is 2, because 1 means an inconsistent ledger. */
export function asUnreadable(thrown: unknown): unknown {
  const failure = withAdvice(thrown, ADVICE)
  return failure instanceof Failure && failure.code in ADVICE
    ? new Failure(failure.code, failure.message, 2)
    : failure
}

/** The id of the workspace of this database that `selector` names; undefined if there is no selector. */
export async function workspaceIdOf(
  { io }: Context,
  selector: string | undefined,
  database_url: string,
): Promise<string | undefined> {
  if (selector === undefined) return undefined
  const there = { ...io, env: { ...io.env, SVC_DATABASE_URL: database_url } }
  return withCore(there, async (core) => (await findWorkspace(core, selector, io)).id)
}
