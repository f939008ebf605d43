import type { TermsChange } from '@svc/core'
import type { Command } from 'commander'
import { findWorkspace, operatorOf, withCore, withWorkspace } from '../connect/operator.ts'
import { type Context, withExamples } from '../context.ts'
import { confirm } from '../input/confirm.ts'
import { accountDocument } from '../show/credit-report.ts'
import { printable } from '../show/text.ts'

interface FreezeOptions {
  workspace?: string
  reason: string
  yes?: boolean
}

/** Adds `svc credits freeze`. */
export function addFreeze(credits: Command, context: Context): void {
  const freeze = withWorkspace(
    credits
      .command('freeze')
      .summary('let a workspace spend nothing')
      .description(
        `Lets a workspace spend nothing, from its next request on. What was accepted is still sent, refunds are still
given, credits can still be bought. It asks first; svc credits unfreeze undoes it.`,
      )
      .requiredOption('--reason <text>', 'why; svc credits show shows it')
      .option('--yes', 'do not ask'),
  ).action((options: FreezeOptions) => freezeWorkspace(context, options))
  withExamples(
    freeze,
    'svc credits freeze --reason "Disputed payment"',
    'svc credits freeze --workspace ops@example.com --reason "Disputed payment" --yes',
  )
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

async function freezeWorkspace(
  context: Context,
  { workspace, reason, yes }: FreezeOptions,
): Promise<void> {
  const whose = workspace === undefined ? 'the workspace' : printable(workspace)
  if (!yes) await confirm(context.io, `Let ${whose} spend nothing from now on?`)
  await setStatus(context, workspace, {
    change: { status: 'frozen', reason },
    told: 'is frozen and spends nothing: svc credits unfreeze undoes it',
  })
}

async function setStatus(
  { io, output }: Context,
  selector: string | undefined,
  { change, told }: { change: TermsChange; told: string },
): Promise<void> {
  const { workspace, account } = await withCore(io, async (core) => {
    const found = await findWorkspace(core, selector)
    return {
      workspace: found,
      account: await core.credits.setTerms(found.id, change, operatorOf(io)),
    }
  })
  if (!output.isJson()) return output.line(`${workspace.email} ${told}.`)
  output.document(accountDocument(workspace, account, await import('@svc/core/contract')))
}
