import type { Command } from 'commander'
import { type Context, withExamples } from '../context.ts'
import { addLedgerExport } from './ledger-export.ts'
import { addLedgerVerify } from './ledger-verify.ts'

/** Adds `svc ledger`: the books, read from the database and never changed. */
export function addLedger(program: Command, context: Context): void {
  const ledger = program
    .command('ledger')
    .summary('verify the books and export them (operator)')
    .description(
      'Verifies the books and exports them, on the database itself: the server may run meanwhile.',
    )
  withExamples(ledger, 'svc ledger verify', 'svc ledger export --out ledger.csv')
  addLedgerVerify(ledger, context)
  addLedgerExport(ledger, context)
}
