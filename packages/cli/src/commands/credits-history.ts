import type { Entry } from '@svc/core'
import type { Command } from 'commander'
import { findWorkspace, withCore, withWorkspace } from '../connect/operator.ts'
import { type Context, type PageOptions, withExamples, withPage } from '../context.ts'
import { transactionDocument } from '../show/credit-report.ts'
import type { Cell } from '../show/output.ts'

/** Adds `svc credits history`. */
export function addHistory(credits: Command, context: Context): void {
  const history = withPage(
    withWorkspace(
      credits
        .command('history')
        .summary('show the ledger of a workspace')
        .description(
          `Shows every change of the balance and of the held credits, newest first. Held credits are part of the balance but cannot be
spent; --json shows the available credits, as the API does.`,
        ),
    ),
  ).action((options: PageOptions & { workspace?: string }) => showHistory(context, options))
  withExamples(history, 'svc credits history --limit 10')
}

async function showHistory(
  { io, output }: Context,
  options: PageOptions & { workspace?: string },
): Promise<void> {
  const { api, decode, formatCredits } = await import('@svc/core/contract')
  const { page = 1, limit } = decode(api.api_keys.list.query, {
    page: options.page,
    limit: options.limit,
  })
  const found = await withCore(io, async (core) => {
    const workspace = await findWorkspace(core, options.workspace, io)
    return core.credits.entries(workspace.id, { limit: limit + 1, offset: (page - 1) * limit })
  })
  const shown = found.slice(0, limit)
  if (output.isJson()) {
    return output.document({ transactions: await Promise.all(shown.map(transactionDocument)) })
  }
  const signed = (amount: Entry['amount']) =>
    amount > 0 ? `+${formatCredits(amount)}` : formatCredits(amount)
  output.table(
    ['TIME', 'TYPE', 'CREDITS', 'HELD', 'BALANCE', 'REFERENCE', 'DESCRIPTION'],
    shown.map((entry): Cell[] => [
      entry.created_at.toISOString(),
      entry.kind,
      { text: movement(entry.amount, signed), style: entry.amount < 0 ? 'red' : 'green' },
      { text: movement(entry.held_delta, signed), style: 'yellow' },
      formatCredits(entry.balance_after),
      `${entry.ref_type}:${entry.ref_id}`,
      entry.description ?? '',
    ]),
  )
  if (found.length > limit) output.note(`More: --page ${page + 1}`)
}

/** The text of the amount, or a dash for 0. */
function movement<T extends number>(amount: T, text: (amount: T) => string): string {
  return amount === 0 ? '-' : text(amount)
}
