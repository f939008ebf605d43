import type { Command } from 'commander'
import { usage } from './failure.ts'

/** Adds the option that says who books an entry. */
export function withActor(command: Command): Command {
  return command.option(
    '--actor <name>',
    'who does it; stands in the ledger',
    readActor,
    'operator',
  )
}

function readActor(text: string): string {
  const name = text.trim()
  if (name !== '') return name
  throw usage('--actor must be a name')
}
