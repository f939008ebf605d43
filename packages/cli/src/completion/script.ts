import type { Command } from 'commander'
import { bashScript } from './bash.ts'
import { fishScript } from './fish.ts'
import { commandsOf } from './tree.ts'
import { zshScript } from './zsh.ts'

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript }

/** A shell that commands can be completed in. */
export type Shell = keyof typeof SCRIPTS

/** The shells that commands can be completed in. */
export const SHELLS = Object.keys(SCRIPTS) as Shell[]

/** What a shell loads to complete the commands of a program. */
export function scriptFor(shell: Shell, program: Command): string {
  return SCRIPTS[shell](commandsOf(program))
}
