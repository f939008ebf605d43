import type { TermsChange } from '@svc/core'
import type { Command } from 'commander'
import { type Context, withExamples } from '../context.ts'
import { accountDocument } from '../credit-report.ts'
import { findWorkspace, withCore, withWorkspace } from '../operator.ts'

/** Adds `svc credits freeze`. */
export function addFreeze(credits: Command, context: Context): void {
  const freeze = withWorkspace(
    credits
      .command('freeze')
      .summary('let a workspace spend nothing')
      .description(
        `Lets a workspace spend nothing, from its next request on. What was accepted is still sent, refunds are still
given, credits can still be bought. svc credits unfreeze undoes it.`,
      )
      .requiredOption('--reason <text>', 'why; svc credits show shows it'),
  ).action(({ workspace, reason }: { workspace?: string; reason: string }) =>
    setStatus(context, workspace, {
      change: { status: 'frozen', reason },
      told: 'is frozen and spends nothing: svc credits unfreeze undoes it',
    }),
  )
  withExamples(freeze, 'svc credits freeze --reason "Disputed payment"')
}

/** Adds `svc credits unfreeze`. */
export function addUnfreeze(credits: Command, context: Context): void {
  const unfreeze = withWorkspace(
    credits
      .command('unfreeze')
      .summary('let a frozen workspace spend again')
      .description('Lets a frozen workspace spend again, from its next request on.'),
  ).action(({ workspace }: { workspace?: string }) =>
    setStatus(context, workspace, { change: { status: 'active' }, told: 'may spend again' }),
  )
  withExamples(unfreeze, 'svc credits unfreeze --workspace ops@example.com')
}

async function setStatus(
  { surroundings, output }: Context,
  selector: string | undefined,
  { change, told }: { change: TermsChange; told: string },
): Promise<void> {
  const { workspace, account } = await withCore(surroundings, async (core) => {
    const found = await findWorkspace(core, selector)
    return { workspace: found, account: await core.credits.setTerms(found.id, change) }
  })
  if (!output.isJson()) return output.line(`${workspace.email} ${told}.`)
  output.document(accountDocument(workspace, account, await import('@svc/core/contract')))
}
