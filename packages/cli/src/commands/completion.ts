import { Argument, type Command } from 'commander'
import { bashScript } from '../completion/bash.ts'
import { fishScript } from '../completion/fish.ts'
import { commandsOf } from '../completion/tree.ts'
import { zshScript } from '../completion/zsh.ts'
import { type Context, withExamples } from '../context.ts'

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript }

type Shell = keyof typeof SCRIPTS

/** Every shell with a completion script. */
export const SHELLS = Object.keys(SCRIPTS) as Shell[]

/** Adds `svc completion`: completion scripts for shells. */
export function addCompletion(program: Command, context: Context): void {
  const command = program
    .command('completion')
    .summary('print a completion script for a shell')
    .description(
      `Prints a script that completes commands, options and their choices in bash, zsh or fish. It starts no process while you
type. Load it in the startup file of your shell.`,
    )
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .action((shell: Shell) => {
      const script = SCRIPTS[shell](commandsOf(program))
      if (context.output.isJson()) context.output.document({ shell, script })
      else context.io.stdout.write(script)
    })
  withExamples(
    command,
    'source <(svc completion bash)',
    'svc completion zsh > ~/.zsh/completions/_svc',
    'svc completion fish > ~/.config/fish/completions/svc.fish',
  )
}
