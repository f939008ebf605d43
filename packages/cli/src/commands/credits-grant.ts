import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import { findWorkspace, withCore, withWorkspace } from '../connect/operator.ts'
import { type Context, withExamples } from '../context.ts'
import { momentText } from '../input/time.ts'
import { transactionDocument } from '../show/credit-report.ts'
import { printable } from '../show/text.ts'
import { readCredits, withActor, withFate } from './credits-entry.ts'

interface GrantOptions {
  workspace?: string
  reason?: string
  id?: string
  actor: string
  expires?: string
}

/** Adds `svc credits grant`. */
export function addGrant(credits: Command, context: Context): void {
  const grant = withActor(
    withWorkspace(
      credits
        .command('grant')
        .summary('give credits to a workspace')
        .description(
          `Gives credits to a workspace. With --id it is safe to repeat: one id is granted once. With --expires what is
left of it expires then: what expires first is spent first.`,
        )
        .argument('<amount>', 'credits, with at most six decimals')
        .option('--reason <text>', 'stands in the ledger')
        .option(
          '--id <id>',
          'names this grant, so that repeating it gives nothing again (default: a new one)',
        )
        .option('--expires <when>', 'a duration such as 30d or 12h, or a date (default: never)'),
    ),
  ).action((amount: string, options: GrantOptions) => grantCredits(context, amount, options))
  withExamples(
    grant,
    'svc credits grant 100',
    'svc credits grant 50 --reason "Trial" --expires 30d',
    'svc credits grant 250 --workspace ops@example.com --reason "Invoice 2026-17" --id invoice-2026-17',
  )
}

async function grantCredits(
  { io, output }: Context,
  text: string,
  { workspace: selector, reason, id = randomUUID(), actor, expires }: GrantOptions,
): Promise<void> {
  const { creditsOf, dateTime, decode, formatCredits } = await import('@svc/core/contract')
  const amount = await readCredits('<amount>', text)
  const expires_at =
    expires === undefined ? undefined : decode(dateTime, momentText(expires, { now: new Date() }))
  const { entry, repeated, workspace } = await withCore(io, async (core) => {
    const { id: workspaceId } = await findWorkspace(core, selector)
    const grant = { amount, id, actor, description: reason, expires_at }
    const granted = await withFate(id, () => core.credits.grant(workspaceId, grant))
    return { ...granted, workspace: await core.workspaces.account(workspaceId) }
  })
  if (output.isJson()) {
    return output.document({
      transaction: await transactionDocument(entry),
      repeated,
      credits_balance: creditsOf(workspace.credits_balance),
    })
  }
  const balance = `${formatCredits(workspace.credits_balance)} credits available`
  const given = `${formatCredits(entry.amount)} credits`
  const until = expires_at ? `, what is left of them until ${expires_at.toISOString()}` : ''
  output.line(
    repeated
      ? `${printable(id)} was granted before (${given}); nothing was given again. ${workspace.email} has ${balance}.`
      : `Gave ${given} to ${workspace.email}${until}: ${balance}.`,
  )
}
