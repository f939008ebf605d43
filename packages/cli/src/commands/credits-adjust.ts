import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import { findWorkspace, withCore, withWorkspace } from '../connect/operator.ts'
import { type Context, withExamples } from '../context.ts'
import { counted } from '../show/counted.ts'
import { transactionDocument } from '../show/credit-report.ts'
import { printable } from '../show/text.ts'
import { readCredits, withActor, withRetryHint } from './credits-entry.ts'

interface AdjustOptions {
  workspace?: string
  reason: string
  id?: string
  actor: string
  force?: boolean
}

/** Adds `svc credits adjust`. */
export function addAdjust(credits: Command, context: Context): void {
  const adjust = withActor(
    withWorkspace(
      credits
        .command('adjust')
        .summary('correct a balance, up or down')
        .description(
          `Corrects the balance of a workspace. The entry stays in the ledger with its reason; another adjustment reverses it. Each
id is booked once: a repetition with the printed id changes nothing.`,
        )
        .argument('<amount>', 'the credits to add; a negative number takes credits')
        .requiredOption('--reason <text>', 'the reason, recorded in the ledger')
        .option('--id <id>', 'the id of this adjustment (default: a new one, which is printed)')
        .option('--force', 'take more credits than are available'),
    ),
  ).action((amount: string, options: AdjustOptions) => adjustCredits(context, amount, options))
  withExamples(
    adjust,
    'svc credits adjust -5 --reason "Granted twice" --actor asha',
    'svc credits adjust 12.5 --reason "Outage of 4 May" --id outage-2026-05-04 --workspace ops@example.com',
  )
}

async function adjustCredits(
  { io, output }: Context,
  text: string,
  { workspace: selector, reason, id = randomUUID(), actor, force }: AdjustOptions,
): Promise<void> {
  const { creditsOf, formatCredits, units } = await import('@svc/core/contract')
  const amount = await readCredits('<amount>', text.replace(/^\+(?=\d)/, ''))
  const { entry, repeated, workspace } = await withCore(io, async (core) => {
    const { id: workspaceId } = await findWorkspace(core, selector, io)
    const adjustment = { amount, id, actor, reason, force }
    const adjusted = await withRetryHint(id, () => core.credits.adjust(workspaceId, adjustment))
    return { ...adjusted, workspace: await core.workspaces.account(workspaceId) }
  })
  if (output.isJson()) {
    return output.document({
      transaction: await transactionDocument(entry),
      repeated,
      credits_balance: creditsOf(workspace.credits_balance),
    })
  }
  const size = counted(formatCredits(units(Math.abs(entry.amount))), 'credit')
  const moved = entry.amount < 0 ? `Took ${size} from` : `Gave ${size} to`
  const balance = `${counted(formatCredits(workspace.credits_balance), 'credit')} available`
  output.line(
    repeated
      ? `${printable(id)} was booked before (${counted(formatCredits(entry.amount), 'credit')}); nothing was changed. ${workspace.email} has ${balance}.`
      : `${moved} ${workspace.email}: ${balance}. Adjustment ${printable(id)}.`,
  )
}
