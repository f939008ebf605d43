import { PassThrough } from 'node:stream'
import type { Command } from 'commander'
import { createProgram } from '../src/program.ts'

/** A command with its words: `['messages', 'list']`. */
export interface FoundCommand {
  names: string[]
  command: Command
}

/** Every command of `svc`, also those that only have subcommands. */
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

/** Every command that can run. */
export function leafCommands(): FoundCommand[] {
  return allCommands().filter(({ command }) => command.commands.length === 0)
}

function under(command: Command, names: string[]): FoundCommand[] {
  return command.commands.flatMap((each) => {
    const found = { names: [...names, each.name()], command: each }
    return [found, ...under(each, found.names)]
  })
}
