import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import { findWorkspace, withCore, withWorkspace } from '../connect/operator.ts'
import { type Context, withExamples } from '../context.ts'
import { momentText } from '../input/time.ts'
import { counted } from '../show/counted.ts'
import { transactionDocument } from '../show/credit-report.ts'
import { printable } from '../show/text.ts'
import { readCredits, withActor, withRetryHint } from './credits-entry.ts'

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
          `Gives credits to a workspace. With --id the command is safe to repeat: each id is granted once. With --expires the unspent
credits of the grant expire at that time; credits that expire first are spent first.`,
        )
        .argument('<amount>', 'credits, with at most six decimals')
        .option('--reason <text>', 'the reason, recorded in the ledger')
        .option(
          '--id <id>',
          'the id of this grant: a repetition grants nothing (default: a new one)',
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
    const { id: workspaceId } = await findWorkspace(core, selector, io)
    const grant = { amount, id, actor, description: reason, expires_at }
    const granted = await withRetryHint(id, () => core.credits.grant(workspaceId, grant))
    return { ...granted, workspace: await core.workspaces.account(workspaceId) }
  })
  if (output.isJson()) {
    return output.document({
      transaction: await transactionDocument(entry),
      repeated,
      credits_balance: creditsOf(workspace.credits_balance),
    })
  }
  const balance = `${counted(formatCredits(workspace.credits_balance), 'credit')} available`
  const size = counted(formatCredits(entry.amount), 'credit')
  const until = expires_at ? `, which expire at ${expires_at.toISOString()}` : ''
  output.line(
    repeated
      ? `${printable(id)} was granted before (${size}); nothing was granted again. ${workspace.email} has ${balance}.`
      : `Gave ${size} to ${workspace.email}${until}: ${balance}.`,
  )
}
