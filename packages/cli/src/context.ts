import type { Command } from 'commander'
import type { ProcessIo } from './process/process-io.ts'
import type { Output } from './show/output.ts'

/** What every command gets. */
export interface Context {
  /** Replaced once it is known what is set elsewhere than in the environment, so taken when a command runs. */
  io: ProcessIo
  readonly output: Output
}

/** Puts examples under a command's help. */
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

/** Adds `--page` and `--limit`, which the contract bounds. */
export function withPage(command: Command): Command {
  return command
    .option('--limit <n>', 'rows per page, 1 to 100 (default: 50)')
    .option('--page <n>', 'which page (default: 1)')
}

/** The options of `withPage`. */
export interface PageOptions {
  page?: string
  limit?: string
}
