import type { Command } from 'commander'
import { findWorkspace, withCore, withWorkspace } from '../connect/operator.ts'
import { type Context, withExamples } from '../context.ts'
import { accountDocument, accountFields } from '../show/credit-report.ts'
import type { Cell } from '../show/output.ts'

/** The maximum number of holds, and of expiring grants, that are shown. */
const SHOWN_MAX = 20

/** Adds `svc credits show`. */
export function addShow(credits: Command, context: Context): void {
  const show = withWorkspace(
    credits
      .command('show')
      .summary('show the credits and limits of a workspace')
      .description(
        `Shows the available and held credits of a workspace, its limits, the holds of calls, and the unspent grants that expire
next; at most ${SHOWN_MAX} holds and ${SHOWN_MAX} grants.`,
      ),
  ).action((options: { workspace?: string }) => showCredits(context, options))
  withExamples(show, 'svc credits show', 'svc credits show --workspace ops@example.com --json')
}

async function showCredits(
  { io, output }: Context,
  { workspace: selector }: { workspace?: string },
): Promise<void> {
  const contract = await import('@svc/core/contract')
  const { creditsOf, formatCredits } = contract
  const { workspace, account, holds, lots } = await withCore(io, async (core) => {
    const found = await findWorkspace(core, selector, io)
    const { credits } = core
    return {
      workspace: found,
      account: await credits.account(found.id),
      holds: await credits.holds(found.id, { limit: SHOWN_MAX, offset: 0 }),
      lots: (await credits.lots(found.id)).slice(0, SHOWN_MAX),
    }
  })
  if (output.isJson()) {
    return output.document({
      ...accountDocument(workspace, account, contract),
      holds: holds.map(({ message_id, n, amount, expires_at }) => ({
        message_id,
        n,
        credits: creditsOf(amount),
        expires_at: expires_at.toISOString(),
      })),
      lots: lots.map(({ id, amount, remaining, expires_at }) => ({
        transaction_id: id,
        credits: creditsOf(amount),
        remaining: creditsOf(remaining),
        expires_at: expires_at.toISOString(),
      })),
    })
  }
  output.fields(accountFields(workspace, account, contract))
  const rows: Cell[][] = [
    ...holds.map(({ message_id, amount, expires_at }) => [
      'hold',
      expires_at.toISOString(),
      formatCredits(amount),
      `message:${message_id}`,
    ]),
    ...lots.map(({ id, amount, remaining, expires_at }) => [
      'grant',
      expires_at.toISOString(),
      `${formatCredits(remaining)} of ${formatCredits(amount)}`,
      `entry:${id}`,
    ]),
  ]
  if (rows.length === 0) return
  output.line()
  output.table(['EXPIRING', 'AT', 'CREDITS', 'REFERENCE'], rows)
}
