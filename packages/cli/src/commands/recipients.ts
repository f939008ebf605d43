import type { Command } from 'commander'
import { type Context, withExamples } from '../context.ts'
import { addErase } from './recipients-erase.ts'

/** Adds `svc recipients`: who was written to, on the database. */
export function addRecipients(program: Command, context: Context): void {
  const recipients = program
    .command('recipients')
    .summary('erase somebody who was written to (operator)')
    .description(
      'Erases somebody who was written to, on the database itself: the server may run meanwhile.',
    )
  withExamples(recipients, 'svc recipients erase +14155552671 --dry-run')
  addErase(recipients, context)
}
