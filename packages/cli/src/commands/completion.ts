import { Argument, type Command } from 'commander'
import { SHELLS, type Shell, scriptFor } from '../completion/script.ts'
import { type Context, withExamples } from '../context.ts'

/** Adds `svc completion`: what a shell needs to complete commands. */
export function addCompletion(program: Command, context: Context): void {
  const command = program
    .command('completion')
    .summary('print what lets a shell complete commands')
    .description(
      `Prints a script that lets bash, zsh or fish complete commands, options and their choices. It starts no process while
you type. Load it in the file that your shell starts with.`,
    )
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .action((shell: Shell) => {
      const script = scriptFor(shell, program)
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
