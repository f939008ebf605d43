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

/** Adds `--page` and `--limit`; the contract sets their bounds. */
export function withPage(command: Command): Command {
  return command
    .option('--limit <n>', 'rows per page, 1 to 100 (default: 50)')
    .option('--page <n>', 'the page number (default: 1)')
}

/** The options of `withPage`. */
export interface PageOptions {
  page?: string
  limit?: string
}

/** The page of the options as a request has it. The server refuses what is not a number within its bounds. */
export function pageOf({ page, limit }: { page: string | undefined; limit: string | undefined }): {
  page?: number
  limit?: number
} {
  return {
    ...(page !== undefined && { page: Number(page) }),
    ...(limit !== undefined && { limit: Number(limit) }),
  }
}
