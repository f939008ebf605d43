import type { Command } from 'commander'
import { type Context, withExamples } from '../context.ts'
import { addLedgerExport } from './ledger-export.ts'
import { addLedgerVerify } from './ledger-verify.ts'

/** Adds `svc ledger`. Its commands read the ledger from the database and never change it. */
export function addLedger(program: Command, context: Context): void {
  const ledger = program
    .command('ledger')
    .summary('verify and export the ledger (operator)')
    .description(
      'Verifies and exports the ledger. It works on the database; the server may run meanwhile.',
    )
  withExamples(ledger, 'svc ledger verify', 'svc ledger export --out ledger.csv')
  addLedgerVerify(ledger, context)
  addLedgerExport(ledger, context)
}
