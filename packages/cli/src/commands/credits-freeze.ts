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
      .summary('stop the spending of a workspace')
      .description(
        `Stops the spending of a workspace from its next request on, after a confirmation. Accepted messages are still
sent, refunds are still booked, and credits can still be bought. svc credits unfreeze reverses it.`,
      )
      .requiredOption('--reason <text>', 'the reason, which svc credits show shows')
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
      .summary('allow a frozen workspace to spend again')
      .description('Allows a frozen workspace to spend again, from its next request on.'),
  ).action(({ workspace }: { workspace?: string }) =>
    setStatus(context, workspace, { change: { status: 'active' }, result: 'may spend again' }),
  )
  withExamples(unfreeze, 'svc credits unfreeze --workspace ops@example.com')
}

async function freezeWorkspace(
  context: Context,
  { workspace, reason, yes }: FreezeOptions,
): Promise<void> {
  const name = workspace === undefined ? 'the workspace' : printable(workspace)
  if (!yes) await confirm(context.io, `Stop the spending of ${name}?`)
  await setStatus(context, workspace, {
    change: { status: 'frozen', reason },
    result: 'is frozen and cannot spend: svc credits unfreeze reverses it',
  })
}

async function setStatus(
  { io, output }: Context,
  selector: string | undefined,
  { change, result }: { change: TermsChange; result: string },
): Promise<void> {
  const { workspace, account } = await withCore(io, async (core) => {
    const found = await findWorkspace(core, selector, io)
    return {
      workspace: found,
      account: await core.credits.setTerms(found.id, change, operatorOf(io)),
    }
  })
  if (!output.isJson()) return output.line(`${workspace.email} ${result}.`)
  output.document(accountDocument(workspace, account, await import('@svc/core/contract')))
}
