import type { Command } from 'commander'
import { type Context, withExamples } from '../context.ts'
import { addAdjust } from './credits-adjust.ts'
import { addFreeze, addUnfreeze } from './credits-freeze.ts'
import { addGrant } from './credits-grant.ts'
import { addHistory } from './credits-history.ts'
import { addShow } from './credits-show.ts'
import { addTerms } from './credits-terms.ts'

/** Adds `svc credits`: accounts and their ledger, in the database. */
export function addCredits(program: Command, context: Context): void {
  const credits = program
    .command('credits')
    .summary('grant and correct credits, set limits, freeze, show the history (operator)')
    .description(
      'Grants and corrects credits, sets limits, freezes workspaces, and shows their ledger. It works on the database; the server may run meanwhile.',
    )
  withExamples(
    credits,
    'svc credits grant 100 --reason "Welcome"',
    'svc credits show',
    'svc credits history',
  )
  addGrant(credits, context)
  addAdjust(credits, context)
  addShow(credits, context)
  addHistory(credits, context)
  addTerms(credits, context)
  addFreeze(credits, context)
  addUnfreeze(credits, context)
}
