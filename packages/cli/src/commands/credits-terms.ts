import type { TermsChange } from '@svc/core'
import type { Command } from 'commander'
import { findWorkspace, operatorOf, withCore, withWorkspace } from '../connect/operator.ts'
import { type Context, withExamples } from '../context.ts'
import { usage } from '../process/failure.ts'
import { accountDocument, accountFields } from '../show/credit-report.ts'
import { readCredits } from './credits-entry.ts'

interface TermsOptions {
  workspace?: string
  creditLimit?: string
  dailyLimit?: string
  lowBalance?: string
}

/** Adds `svc credits terms`. */
export function addTerms(credits: Command, context: Context): void {
  const terms = withWorkspace(
    credits
      .command('terms')
      .summary('set the limits of a workspace')
      .description(
        'Sets the limits of a workspace, from its next request on. A limit without its option does not change.',
      )
      .option('--credit-limit <credits>', 'the largest negative balance')
      .option(
        '--daily-limit <credits>',
        'the most credits that it may spend in a day (UTC), or none',
      )
      .option(
        '--low-balance <credits>',
        'the balance below which the owner is notified, the word never, or the word default: the setting of the service',
      ),
  ).action((options: TermsOptions) => setTerms(context, options))
  withExamples(
    terms,
    'svc credits terms --credit-limit 50 --daily-limit 100',
    'svc credits terms --low-balance default --daily-limit none --workspace ops@example.com',
  )
}

async function setTerms({ io, output }: Context, options: TermsOptions): Promise<void> {
  const change = await changeOf(options)
  const { workspace, account } = await withCore(io, async (core) => {
    const found = await findWorkspace(core, options.workspace, io)
    return {
      workspace: found,
      account: await core.credits.setTerms(found.id, change, operatorOf(io)),
    }
  })
  const contract = await import('@svc/core/contract')
  if (output.isJson()) return output.document(accountDocument(workspace, account, contract))
  output.fields(accountFields(workspace, account, contract))
}

/** @throws Failure when no option asks for a change, and for an invalid amount. */
async function changeOf({
  creditLimit,
  dailyLimit,
  lowBalance,
}: TermsOptions): Promise<TermsChange> {
  const change: TermsChange = {}
  if (creditLimit !== undefined) {
    change.credit_limit = await readCredits('--credit-limit', creditLimit)
  }
  if (dailyLimit !== undefined) {
    change.daily_limit =
      dailyLimit === 'none' ? null : await readCredits('--daily-limit', dailyLimit)
  }
  if (lowBalance === 'default') change.low_balance = 'default'
  else if (lowBalance !== undefined) {
    change.low_balance =
      lowBalance === 'never' ? null : await readCredits('--low-balance', lowBalance)
  }
  if (Object.keys(change).length === 0) {
    throw usage(
      'name a limit: --credit-limit, --daily-limit or --low-balance (svc credits show shows the limits)',
    )
  }
  return change
}
