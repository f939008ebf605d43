import type { Command } from 'commander'
import { type Context, withExamples } from '../context.ts'
import { addAdjust } from './credits-adjust.ts'
import { addFreeze, addUnfreeze } from './credits-freeze.ts'
import { addGrant } from './credits-grant.ts'
import { addHistory } from './credits-history.ts'
import { addShow } from './credits-show.ts'
import { addTerms } from './credits-terms.ts'

/** Adds `svc credits`: accounts and their ledger, on the database. */
export function addCredits(program: Command, context: Context): void {
  const credits = program
    .command('credits')
    .summary('grant and correct credits, set limits, freeze, show the history (operator)')
    .description(
      'Grants and corrects credits, sets on what terms a workspace spends, and shows its ledger, on the database itself: the server may run meanwhile.',
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
