import type { Command } from 'commander'
import { bashScript } from './bash.ts'
import { fishScript } from './fish.ts'
import { commandsOf } from './tree.ts'
import { zshScript } from './zsh.ts'

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript }

/** A shell with a completion script. */
export type Shell = keyof typeof SCRIPTS

/** Every shell with a completion script. */
export const SHELLS = Object.keys(SCRIPTS) as Shell[]

/** The completion script of a program for a shell. */
export function scriptFor(shell: Shell, program: Command): string {
  return SCRIPTS[shell](commandsOf(program))
}
