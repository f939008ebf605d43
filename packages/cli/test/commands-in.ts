import { PassThrough } from 'node:stream'
import type { Command } from 'commander'
import { createProgram } from '../src/program.ts'

/** A command of the tree, with what one types to get there: `['messages', 'list']`. */
export interface FoundCommand {
  names: string[]
  command: Command
}

/** Every command that `svc` has, those that only hold others too. */
export function allCommands(): FoundCommand[] {
  const { program } = createProgram({
    env: {},
    stdin: new PassThrough(),
    stdout: new PassThrough(),
    stderr: new PassThrough(),
    cwd: '/',
  })
  return under(program, [])
}

/** Every command that does something. */
export function leafCommands(): FoundCommand[] {
  return allCommands().filter(({ command }) => command.commands.length === 0)
}

function under(command: Command, names: string[]): FoundCommand[] {
  return command.commands.flatMap((each) => {
    const found = { names: [...names, each.name()], command: each }
    return [found, ...under(each, found.names)]
  })
}
