import type { Command } from 'commander'
import type { ProcessIo } from './process/process-io.ts'
import type { Output } from './show/output.ts'

/** The context of a command: its process I/O and its output. */
export interface Context {
  /** Read this property only when the command runs: the configuration file and the options replace its value. */
  io: ProcessIo
  readonly output: Output
}

/** Adds examples below the help of a command. */
export function withExamples(command: Command, ...examples: string[]): Command {
  const lines = examples.map((example) => `  $ ${example.replaceAll('\n', '\n    ')}`)
  return command.addHelpText(
    'after',
    `\nExample${examples.length > 1 ? 's' : ''}:\n${lines.join('\n')}`,
  )
}

/** The items of a comma-separated option. */
export function listOf(text: string): string[] {
  return text.split(',').flatMap((item) => item.trim() || [])
}
